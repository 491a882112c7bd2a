// Files as RocksDB reads them.
//
// SPDX-License-Identifier: MIT OR Apache-2.0
#pragma once

#include <rocksdb/file_system.h>

#include <functional>
#include <memory>
#include <vector>

#include "file.h"

namespace joulio {

// The write-ahead log, the manifest and other files that are read once: 256 KiB at a time.
class SequentialFile : public rocksdb::FSSequentialFile {
 public:
  explicit SequentialFile(std::shared_ptr<File> file) : file_(std::move(file)) {}

  IOStatus Read(size_t n, const rocksdb::IOOptions& options, rocksdb::Slice* result, char* scratch,
                rocksdb::IODebugContext* dbg) override;
  IOStatus Skip(uint64_t n) override;

 private:
  std::shared_ptr<File> file_;
  uint64_t position_ = 0;
  // Bytes of the file from `ahead_start_`.
  std::vector<char> ahead_;
  uint64_t ahead_start_ = 0;
  size_t ahead_length_ = 0;
};

// Tables. Prefetch() is not supported, so that RocksDB reads ahead into buffers of its own: there is no
// page cache below.
class RandomAccessFile : public rocksdb::FSRandomAccessFile {
 public:
  explicit RandomAccessFile(std::shared_ptr<File> file) : file_(std::move(file)) {}

  IOStatus Read(uint64_t offset, size_t n, const rocksdb::IOOptions& options, rocksdb::Slice* result,
                char* scratch, rocksdb::IODebugContext* dbg) const override;
  IOStatus MultiRead(rocksdb::FSReadRequest* requests, size_t count, const rocksdb::IOOptions& options,
                     rocksdb::IODebugContext* dbg) override;
  // The callback is called in Poll() or AbortIO() only.
  IOStatus ReadAsync(rocksdb::FSReadRequest& request, const rocksdb::IOOptions& options,
                     std::function<void(const rocksdb::FSReadRequest&, void*)> callback, void* argument,
                     void** handle, rocksdb::IOHandleDeleter* deleter, rocksdb::IODebugContext* dbg) override;

 private:
  std::shared_ptr<File> file_;
};

}  // namespace joulio
