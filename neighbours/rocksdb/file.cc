#include "file.h"

#include <utility>

#include "volume.h"

namespace joulio {
namespace {

constexpr size_t kMaxKept = 256 << 10;

using Clock = std::chrono::steady_clock;

}  // namespace

File::File(std::shared_ptr<Volume> volume, std::string name, joulio_file* file)
    : volume_(std::move(volume)), name_(std::move(name)), file_(file) {}

// A writer that was not closed leaves what it appended.
File::~File() {
  Drain().PermitUncheckedError();
  joulio_file_close(file_);
}

IOStatus File::Read(uint64_t offset, char* into, size_t length, size_t* done) {
  joulio_file_part part{offset, into, length, 0};
  IOStatus read = ReadMany(&part, 1);
  *done = part.done;
  return read;
}

IOStatus File::ReadMany(joulio_file_part* parts, size_t count) {
  IOStatus drained = Drain();
  if (!drained.ok()) {
    return drained;
  }
  const auto begin = Clock::now();
  const int read = joulio_file_read_many(file_, parts, count);
  const auto took = Clock::now() - begin;
  if (read < 0) {
    return Failed(name_, read);
  }
  Counts& counts = volume_->counts();
  counts.reads += count;
  for (size_t i = 0; i < count; i++) {
    counts.read_bytes += parts[i].done;
    counts.read_nanos.Add(std::chrono::nanoseconds(took).count());
  }
  return IOStatus::OK();
}

IOStatus File::StartRead(uint64_t offset, char* into, size_t length, std::unique_ptr<StartedRead>* started) {
  IOStatus drained = Drain();
  if (!drained.ok()) {
    return drained;
  }
  const auto begin = Clock::now();
  joulio_started_read* read = joulio_file_read_start(file_, offset, into, length);
  if (read == nullptr) {
    return Failed(name_, -EIO);
  }
  started->reset(new StartedRead{read, Clock::now() - begin});
  volume_->counts().StartAsyncRead();
  return IOStatus::OK();
}

IOStatus File::FinishRead(std::unique_ptr<StartedRead> started, size_t* done) {
  const auto begin = Clock::now();
  const int read = joulio_file_read_wait(started->read, done);
  const auto waited = started->waited + (Clock::now() - begin);
  Counts& counts = volume_->counts();
  counts.async_in_flight--;
  if (read < 0) {
    return Failed(name_, read);
  }
  counts.reads++;
  counts.async_reads++;
  counts.read_bytes += *done;
  counts.read_nanos.Add(std::chrono::nanoseconds(waited).count());
  return IOStatus::OK();
}

void File::CancelRead(std::unique_ptr<StartedRead> started) {
  if (started == nullptr) {
    return;
  }
  joulio_file_read_cancel(started->read);
  Counts& counts = volume_->counts();
  counts.async_in_flight--;
  counts.reads++;
  counts.async_reads++;
  counts.aborted_reads++;
}

IOStatus File::Append(const rocksdb::Slice& data) {
  std::lock_guard<std::mutex> lock(mutex_);
  return AppendLocked(data);
}

IOStatus File::AppendLocked(const rocksdb::Slice& data) {
  if (kept_.size() + data.size() > kMaxKept) {
    IOStatus drained = DrainLocked();
    if (!drained.ok()) {
      return drained;
    }
    if (data.size() > kMaxKept) {
      CountWrite(data.size());
      return StatusOf(name_, joulio_file_append(file_, data.data(), data.size(), nullptr));
    }
  }
  kept_.append(data.data(), data.size());
  kept_bytes_.store(kept_.size(), std::memory_order_release);
  return IOStatus::OK();
}

IOStatus File::Write(uint64_t offset, const rocksdb::Slice& data) {
  std::lock_guard<std::mutex> lock(mutex_);
  IOStatus drained = DrainLocked();
  if (!drained.ok()) {
    return drained;
  }
  CountWrite(data.size());
  return StatusOf(name_, joulio_file_write(file_, offset, data.data(), data.size()));
}

IOStatus File::Truncate(uint64_t size) {
  std::lock_guard<std::mutex> lock(mutex_);
  IOStatus drained = DrainLocked();
  return drained.ok() ? StatusOf(name_, joulio_file_truncate(file_, size)) : drained;
}

IOStatus File::Drain() {
  if (kept_bytes_.load(std::memory_order_acquire) == 0) {
    return IOStatus::OK();
  }
  std::lock_guard<std::mutex> lock(mutex_);
  return DrainLocked();
}

// What could not be written stays, so that the next one to ask is told too.
IOStatus File::DrainLocked() {
  if (kept_.empty()) {
    return IOStatus::OK();
  }
  const int written = joulio_file_append(file_, kept_.data(), kept_.size(), nullptr);
  if (written < 0) {
    return Failed(name_, written);
  }
  CountWrite(kept_.size());
  kept_.clear();
  kept_bytes_.store(0, std::memory_order_release);
  return IOStatus::OK();
}

IOStatus File::Sync() {
  IOStatus drained = Drain();
  if (!drained.ok()) {
    return drained;
  }
  volume_->counts().syncs++;
  return StatusOf(name_, joulio_file_sync(file_));
}

IOStatus File::Size(uint64_t* size) {
  std::lock_guard<std::mutex> lock(mutex_);
  const int sized = joulio_file_size(file_, size);
  *size += sized < 0 ? 0 : kept_.size();
  return StatusOf(name_, sized);
}

void File::CountWrite(size_t bytes) {
  volume_->counts().writes++;
  volume_->counts().written_bytes += bytes;
}

}  // namespace joulio
