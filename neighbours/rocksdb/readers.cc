#include "readers.h"

#include <algorithm>
#include <cstring>

#include "async_read.h"

namespace joulio {

using rocksdb::FSReadRequest;
using rocksdb::IODebugContext;
using rocksdb::IOOptions;
using rocksdb::Slice;

namespace {

constexpr size_t kReadAhead = 256 << 10;

}  // namespace

IOStatus SequentialFile::Read(size_t n, const IOOptions&, Slice* result, char* scratch, IODebugContext*) {
  size_t filled = 0;
  while (filled < n) {
    if (position_ < ahead_start_ || position_ >= ahead_start_ + ahead_length_) {
      ahead_.resize(kReadAhead);
      ahead_start_ = position_;
      IOStatus read = file_->Read(position_, ahead_.data(), ahead_.size(), &ahead_length_);
      if (!read.ok()) {
        ahead_length_ = 0;
        return read;
      }
      if (ahead_length_ == 0) {
        break;
      }
    }
    const size_t skip = position_ - ahead_start_;
    const size_t length = std::min(n - filled, ahead_length_ - skip);
    std::memcpy(scratch + filled, ahead_.data() + skip, length);
    filled += length;
    position_ += length;
  }
  *result = Slice(scratch, filled);
  return IOStatus::OK();
}

IOStatus SequentialFile::Skip(uint64_t n) {
  uint64_t size = 0;
  IOStatus sized = file_->Size(&size);
  position_ += std::min(n, size - std::min(size, position_));
  return sized;
}

IOStatus RandomAccessFile::Read(uint64_t offset, size_t n, const IOOptions&, Slice* result, char* scratch,
                                IODebugContext*) const {
  size_t done = 0;
  IOStatus read = file_->Read(offset, scratch, n, &done);
  *result = Slice(scratch, done);
  return read;
}

IOStatus RandomAccessFile::MultiRead(FSReadRequest* requests, size_t count, const IOOptions&,
                                     IODebugContext*) {
  std::vector<joulio_file_part> parts;
  parts.reserve(count);
  for (size_t i = 0; i < count; i++) {
    parts.push_back({requests[i].offset, requests[i].scratch, requests[i].len, 0});
  }
  IOStatus read = file_->ReadMany(parts.data(), count);
  for (size_t i = 0; i < count; i++) {
    requests[i].status = read;
    requests[i].result = Slice(requests[i].scratch, parts[i].done);
  }
  return IOStatus::OK();
}

IOStatus RandomAccessFile::ReadAsync(FSReadRequest& request, const IOOptions&,
                                     std::function<void(const FSReadRequest&, void*)> callback, void* argument,
                                     void** handle, rocksdb::IOHandleDeleter* deleter, IODebugContext*) {
  auto read = std::make_unique<AsyncRead>(file_, request, std::move(callback), argument);
  IOStatus started = read->Start();
  if (started.ok()) {
    *handle = read.release();
    *deleter = [](void* made) { delete static_cast<AsyncRead*>(made); };
  }
  return started;
}

}  // namespace joulio
