// A volume as RocksDB's file system.
//
// SPDX-License-Identifier: MIT OR Apache-2.0
#pragma once

#include <rocksdb/file_system.h>
#include <rocksdb/version.h>

#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "mount.h"
#include "names.h"

namespace joulio {

// Hard links, times and memory maps of files are not supported.
class JoulioFileSystem : public rocksdb::FileSystem {
 public:
  explicit JoulioFileSystem(std::shared_ptr<Mount> mount) : mount_(std::move(mount)) {}

  static const char* kClassName() { return "JoulioFileSystem"; }
  const char* Name() const override { return kClassName(); }

  IOStatus NewSequentialFile(const std::string& path, const rocksdb::FileOptions& options,
                             std::unique_ptr<rocksdb::FSSequentialFile>* result,
                             rocksdb::IODebugContext* dbg) override;
  IOStatus NewRandomAccessFile(const std::string& path, const rocksdb::FileOptions& options,
                               std::unique_ptr<rocksdb::FSRandomAccessFile>* result,
                               rocksdb::IODebugContext* dbg) override;
  IOStatus NewWritableFile(const std::string& path, const rocksdb::FileOptions& options,
                           std::unique_ptr<rocksdb::FSWritableFile>* result,
                           rocksdb::IODebugContext* dbg) override;
  IOStatus ReopenWritableFile(const std::string& path, const rocksdb::FileOptions& options,
                              std::unique_ptr<rocksdb::FSWritableFile>* result,
                              rocksdb::IODebugContext* dbg) override;
  IOStatus ReuseWritableFile(const std::string& path, const std::string& old_path,
                             const rocksdb::FileOptions& options,
                             std::unique_ptr<rocksdb::FSWritableFile>* result,
                             rocksdb::IODebugContext* dbg) override;
  IOStatus NewRandomRWFile(const std::string& path, const rocksdb::FileOptions& options,
                           std::unique_ptr<rocksdb::FSRandomRWFile>* result,
                           rocksdb::IODebugContext* dbg) override;
  IOStatus NewDirectory(const std::string& path, const rocksdb::IOOptions& options,
                        std::unique_ptr<rocksdb::FSDirectory>* result, rocksdb::IODebugContext* dbg) override;
  IOStatus NewLogger(const std::string& path, const rocksdb::IOOptions& options,
                     std::shared_ptr<rocksdb::Logger>* result, rocksdb::IODebugContext* dbg) override;

  IOStatus FileExists(const std::string& path, const rocksdb::IOOptions& options,
                      rocksdb::IODebugContext* dbg) override;
  IOStatus IsDirectory(const std::string& path, const rocksdb::IOOptions& options, bool* is_dir,
                       rocksdb::IODebugContext* dbg) override;
  IOStatus GetChildren(const std::string& path, const rocksdb::IOOptions& options,
                       std::vector<std::string>* result, rocksdb::IODebugContext* dbg) override;
  IOStatus GetFileSize(const std::string& path, const rocksdb::IOOptions& options, uint64_t* size,
                       rocksdb::IODebugContext* dbg) override;
  IOStatus GetFileModificationTime(const std::string& path, const rocksdb::IOOptions& options, uint64_t* time,
                                   rocksdb::IODebugContext* dbg) override;
  IOStatus GetFreeSpace(const std::string& path, const rocksdb::IOOptions& options, uint64_t* bytes,
                        rocksdb::IODebugContext* dbg) override;
  IOStatus GetAbsolutePath(const std::string& path, const rocksdb::IOOptions& options, std::string* result,
                           rocksdb::IODebugContext* dbg) override;
  IOStatus GetTestDirectory(const rocksdb::IOOptions& options, std::string* result,
                            rocksdb::IODebugContext* dbg) override;

  IOStatus DeleteFile(const std::string& path, const rocksdb::IOOptions& options,
                      rocksdb::IODebugContext* dbg) override;
  IOStatus Truncate(const std::string& path, size_t size, const rocksdb::IOOptions& options,
                    rocksdb::IODebugContext* dbg) override;
  IOStatus RenameFile(const std::string& from, const std::string& to, const rocksdb::IOOptions& options,
                      rocksdb::IODebugContext* dbg) override;
  IOStatus CreateDir(const std::string& path, const rocksdb::IOOptions& options,
                     rocksdb::IODebugContext* dbg) override;
  IOStatus CreateDirIfMissing(const std::string& path, const rocksdb::IOOptions& options,
                              rocksdb::IODebugContext* dbg) override;
  IOStatus DeleteDir(const std::string& path, const rocksdb::IOOptions& options,
                     rocksdb::IODebugContext* dbg) override;

  IOStatus LockFile(const std::string& path, const rocksdb::IOOptions& options, rocksdb::FileLock** lock,
                    rocksdb::IODebugContext* dbg) override;
  IOStatus UnlockFile(rocksdb::FileLock* lock, const rocksdb::IOOptions& options,
                      rocksdb::IODebugContext* dbg) override;

  // Waits for all of `handles`.
  IOStatus Poll(std::vector<void*>& handles, size_t min_completions) override;
  IOStatus AbortIO(std::vector<void*>& handles) override;

#if ROCKSDB_MAJOR >= 8
  void SupportedOps(int64_t& supported) override { supported = 1 << rocksdb::FSSupportedOps::kAsyncIO; }
#endif

 private:
  Volume& volume() const { return mount_->volume(); }
  IOStatus OpenFile(const std::string& path, Volume::Create create, std::shared_ptr<File>* file);
  // True for what was made as a directory, and what has files below.
  bool HasDirectory(const std::string& dir);
  // One file after the other, CURRENT last: what is renamed by half is not taken for a database.
  IOStatus RenameDirectory(const std::string& from, const std::string& to);

  const std::shared_ptr<Mount> mount_;
};

}  // namespace joulio
