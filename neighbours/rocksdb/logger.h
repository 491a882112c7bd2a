// RocksDB's information log (LOG) in a file of the volume.
//
// SPDX-License-Identifier: MIT OR Apache-2.0
#pragma once

#include <rocksdb/env.h>

#include <atomic>
#include <memory>

#include "file.h"

namespace joulio {

// A line for each message: local time, thread, text. Lines are kept as File keeps what is appended, so
// that a killed process leaves few of them.
class FileLogger : public rocksdb::Logger {
 public:
  using rocksdb::Logger::Logv;

  explicit FileLogger(std::shared_ptr<File> file) : file_(std::move(file)) {}
  ~FileLogger() override;

  void Logv(const char* format, va_list arguments) override;
  void Flush() override;
  size_t GetLogFileSize() const override { return bytes_; }

 protected:
  rocksdb::Status CloseImpl() override;

 private:
  std::shared_ptr<File> file_;
  std::atomic<size_t> bytes_{0};
};

// A log that nobody wants.
class NoLogger : public rocksdb::Logger {
 public:
  using rocksdb::Logger::Logv;
  NoLogger() : rocksdb::Logger(rocksdb::InfoLogLevel::FATAL_LEVEL) {}
  void Logv(const char*, va_list) override {}

 protected:
  rocksdb::Status CloseImpl() override { return rocksdb::Status::OK(); }
};

}  // namespace joulio
