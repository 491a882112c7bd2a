#include "writers.h"

namespace joulio {

using rocksdb::IODebugContext;
using rocksdb::IOOptions;
using rocksdb::Slice;

WritableFile::~WritableFile() { Close(IOOptions(), nullptr).PermitUncheckedError(); }

IOStatus WritableFile::Append(const Slice& data, const IOOptions&, IODebugContext*) {
  return file_->Append(data);
}

IOStatus WritableFile::PositionedAppend(const Slice& data, uint64_t offset, const IOOptions&,
                                        IODebugContext*) {
  return file_->Write(offset, data);
}

IOStatus WritableFile::Truncate(uint64_t size, const IOOptions&, IODebugContext*) {
  return file_->Truncate(size);
}

IOStatus WritableFile::Close(const IOOptions&, IODebugContext*) { return file_->Drain(); }

IOStatus WritableFile::Flush(const IOOptions&, IODebugContext*) { return IOStatus::OK(); }

IOStatus WritableFile::Sync(const IOOptions&, IODebugContext*) { return file_->Sync(); }

uint64_t WritableFile::GetFileSize(const IOOptions&, IODebugContext*) {
  uint64_t size = 0;
  file_->Size(&size).PermitUncheckedError();
  return size;
}

IOStatus RandomRWFile::Write(uint64_t offset, const Slice& data, const IOOptions&, IODebugContext*) {
  return file_->Write(offset, data);
}

IOStatus RandomRWFile::Read(uint64_t offset, size_t n, const IOOptions&, Slice* result, char* scratch,
                            IODebugContext*) const {
  size_t done = 0;
  IOStatus read = file_->Read(offset, scratch, n, &done);
  *result = Slice(scratch, done);
  return read;
}

IOStatus RandomRWFile::Flush(const IOOptions&, IODebugContext*) { return IOStatus::OK(); }

IOStatus RandomRWFile::Sync(const IOOptions&, IODebugContext*) { return file_->Sync(); }

IOStatus RandomRWFile::Close(const IOOptions&, IODebugContext*) { return file_->Drain(); }

IOStatus Directory::Fsync(const IOOptions&, IODebugContext*) { return volume_->SyncNames(); }

IOStatus Directory::Close(const IOOptions&, IODebugContext*) { return IOStatus::OK(); }

}  // namespace joulio
