// Files and directories as RocksDB writes them.
//
// SPDX-License-Identifier: MIT OR Apache-2.0
#pragma once

#include <rocksdb/file_system.h>

#include <memory>

#include "file.h"
#include "volume.h"

namespace joulio {

// A file that grows at its end.
class WritableFile : public rocksdb::FSWritableFile {
 public:
  using rocksdb::FSWritableFile::Append;
  using rocksdb::FSWritableFile::PositionedAppend;

  WritableFile(std::shared_ptr<File> file, const rocksdb::FileOptions& options)
      : rocksdb::FSWritableFile(options), file_(std::move(file)) {}
  ~WritableFile() override;

  IOStatus Append(const rocksdb::Slice& data, const rocksdb::IOOptions& options,
                  rocksdb::IODebugContext* dbg) override;
  IOStatus PositionedAppend(const rocksdb::Slice& data, uint64_t offset, const rocksdb::IOOptions& options,
                            rocksdb::IODebugContext* dbg) override;
  IOStatus Truncate(uint64_t size, const rocksdb::IOOptions& options, rocksdb::IODebugContext* dbg) override;
  IOStatus Close(const rocksdb::IOOptions& options, rocksdb::IODebugContext* dbg) override;
  // Nothing to do: who reads the file has what was appended, and only Sync() keeps it beyond the process.
  IOStatus Flush(const rocksdb::IOOptions& options, rocksdb::IODebugContext* dbg) override;
  IOStatus Sync(const rocksdb::IOOptions& options, rocksdb::IODebugContext* dbg) override;
  uint64_t GetFileSize(const rocksdb::IOOptions& options, rocksdb::IODebugContext* dbg) override;
  bool IsSyncThreadSafe() const override { return true; }

 private:
  std::shared_ptr<File> file_;
};

// A file that is read and written anywhere.
class RandomRWFile : public rocksdb::FSRandomRWFile {
 public:
  explicit RandomRWFile(std::shared_ptr<File> file) : file_(std::move(file)) {}

  IOStatus Write(uint64_t offset, const rocksdb::Slice& data, const rocksdb::IOOptions& options,
                 rocksdb::IODebugContext* dbg) override;
  IOStatus Read(uint64_t offset, size_t n, const rocksdb::IOOptions& options, rocksdb::Slice* result,
                char* scratch, rocksdb::IODebugContext* dbg) const override;
  IOStatus Flush(const rocksdb::IOOptions& options, rocksdb::IODebugContext* dbg) override;
  IOStatus Sync(const rocksdb::IOOptions& options, rocksdb::IODebugContext* dbg) override;
  IOStatus Close(const rocksdb::IOOptions& options, rocksdb::IODebugContext* dbg) override;

 private:
  std::shared_ptr<File> file_;
};

// A directory, of which there is nothing to be synced but the volume.
class Directory : public rocksdb::FSDirectory {
 public:
  explicit Directory(std::shared_ptr<Volume> volume) : volume_(std::move(volume)) {}

  IOStatus Fsync(const rocksdb::IOOptions& options, rocksdb::IODebugContext* dbg) override;
  IOStatus Close(const rocksdb::IOOptions& options, rocksdb::IODebugContext* dbg) override;

 private:
  std::shared_ptr<Volume> volume_;
};

}  // namespace joulio
