#include "async_read.h"

#include <utility>

namespace joulio {

using rocksdb::FSReadRequest;

AsyncRead::AsyncRead(std::shared_ptr<File> file, const FSReadRequest& request, Callback callback, void* argument)
    : file_(std::move(file)),
      offset_(request.offset),
      into_(request.scratch),
      length_(request.len),
      callback_(std::move(callback)),
      argument_(argument) {}

AsyncRead::~AsyncRead() { file_->CancelRead(std::move(started_)); }

IOStatus AsyncRead::Start() { return file_->StartRead(offset_, into_, length_, &started_); }

void AsyncRead::Finish() {
  if (started_ == nullptr) {
    return;
  }
  size_t done = 0;
  IOStatus read = file_->FinishRead(std::move(started_), &done);
  Call(std::move(read), done);
}

// The header says that the callback is not called then; but RocksDB's reader frees what it has of the read
// nowhere else (7.8.3), and its own file system calls it too.
void AsyncRead::Abort() {
  if (started_ == nullptr) {
    return;
  }
  file_->CancelRead(std::move(started_));
  Call(IOStatus::Aborted("the read was aborted"), 0);
}

void AsyncRead::Call(IOStatus status, size_t length) {
  FSReadRequest request;
  request.offset = offset_;
  request.len = length_;
  request.scratch = into_;
  request.result = rocksdb::Slice(into_, length);
  request.status = std::move(status);
  callback_(request, argument_);
}

}  // namespace joulio
