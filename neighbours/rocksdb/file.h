// An open file of a volume, for all its handles.
//
// SPDX-License-Identifier: MIT OR Apache-2.0
#pragma once

#include <rocksdb/slice.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <mutex>
#include <string>

#include "joulio.h"
#include "status.h"

namespace joulio {

class Volume;

// A read of libjoulio's that is in flight.
struct StartedRead {
  joulio_started_read* const read;
  // For how long the caller has waited until now.
  std::chrono::nanoseconds waited;
};

// What is appended is kept, up to 256 KiB, until somebody reads, syncs or closes the file: a record of
// the write-ahead log is no write to the device of its own unless it is synced. Any thread may call all
// of it.
class File {
 public:
  File(std::shared_ptr<Volume> volume, std::string name, joulio_file* file);
  ~File();
  File(const File&) = delete;
  File& operator=(const File&) = delete;

  // Bytes that were read are fewer than `length` only at the end of the file.
  IOStatus Read(uint64_t offset, char* into, size_t length, size_t* done);
  IOStatus ReadMany(joulio_file_part* parts, size_t count);
  // Submits a read and returns; `into` has to stay until FinishRead() or CancelRead().
  IOStatus StartRead(uint64_t offset, char* into, size_t length, std::unique_ptr<StartedRead>* started);
  IOStatus FinishRead(std::unique_ptr<StartedRead> started, size_t* done);
  // Does not wait; null: nothing to do.
  void CancelRead(std::unique_ptr<StartedRead> started);
  IOStatus Append(const rocksdb::Slice& data);
  IOStatus Write(uint64_t offset, const rocksdb::Slice& data);
  IOStatus Truncate(uint64_t size);
  // Writes what is kept.
  IOStatus Drain();
  IOStatus Sync();
  IOStatus Size(uint64_t* size);

 private:
  IOStatus DrainLocked();
  IOStatus AppendLocked(const rocksdb::Slice& data);
  void CountWrite(size_t bytes);

  const std::shared_ptr<Volume> volume_;
  const std::string name_;
  joulio_file* const file_;
  std::mutex mutex_;
  std::string kept_;
  // Length of `kept_`, for those who only want to know whether there is something.
  std::atomic<size_t> kept_bytes_{0};
};

}  // namespace joulio
