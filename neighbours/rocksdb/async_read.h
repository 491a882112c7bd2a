// A read between FSRandomAccessFile::ReadAsync() and FileSystem::Poll() or AbortIO().
//
// SPDX-License-Identifier: MIT OR Apache-2.0
#pragma once

#include <rocksdb/file_system.h>

#include <functional>
#include <memory>

#include "file.h"

namespace joulio {

// RocksDB has it as an io_handle, and deletes it. One thread at a time uses it. The device writes to buffers
// of libjoulio's; only Finish() lets them be copied to RocksDB's memory, and nothing does after Abort() or the
// destructor.
class AsyncRead {
 public:
  using Callback = std::function<void(const rocksdb::FSReadRequest&, void*)>;

  AsyncRead(std::shared_ptr<File> file, const rocksdb::FSReadRequest& request, Callback callback, void* argument);
  ~AsyncRead();
  AsyncRead(const AsyncRead&) = delete;
  AsyncRead& operator=(const AsyncRead&) = delete;

  // Submits the read.
  IOStatus Start();
  // Waits for the read, and passes the result to the callback; nothing if that was done, or the read was aborted.
  void Finish();
  // Gives the read up without waiting; the callback gets that as its status. Nothing after Finish().
  void Abort();

 private:
  void Call(IOStatus status, size_t length);

  const std::shared_ptr<File> file_;
  const uint64_t offset_;
  char* const into_;
  const size_t length_;
  const Callback callback_;
  void* const argument_;
  // Null: the read has ended.
  std::unique_ptr<StartedRead> started_;
};

}  // namespace joulio
