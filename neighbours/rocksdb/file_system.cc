#include "file_system.h"

#include <algorithm>

#include "async_read.h"
#include "logger.h"
#include "readers.h"
#include "writers.h"

namespace joulio {

using rocksdb::FileOptions;
using rocksdb::IODebugContext;
using rocksdb::IOOptions;
using Create = Volume::Create;

namespace {

// A lock of this process; the device keeps others away.
struct NameLock : public rocksdb::FileLock {
  explicit NameLock(std::string locked) : name(std::move(locked)) {}
  const std::string name;
};

}  // namespace

IOStatus JoulioFileSystem::OpenFile(const std::string& path, Create create, std::shared_ptr<File>* file) {
  return volume().OpenFile(NameOf(path), create, file);
}

bool JoulioFileSystem::HasDirectory(const std::string& dir) {
  std::vector<std::string> names;
  return mount_->directories().Has(dir) || (volume().Names(dir + '/', &names).ok() && !names.empty());
}

IOStatus JoulioFileSystem::NewSequentialFile(const std::string& path, const FileOptions&,
                                             std::unique_ptr<rocksdb::FSSequentialFile>* result,
                                             IODebugContext*) {
  std::shared_ptr<File> file;
  IOStatus opened = OpenFile(path, Create::kNo, &file);
  result->reset(opened.ok() ? new SequentialFile(std::move(file)) : nullptr);
  return opened;
}

IOStatus JoulioFileSystem::NewRandomAccessFile(const std::string& path, const FileOptions&,
                                               std::unique_ptr<rocksdb::FSRandomAccessFile>* result,
                                               IODebugContext*) {
  std::shared_ptr<File> file;
  IOStatus opened = OpenFile(path, Create::kNo, &file);
  result->reset(opened.ok() ? new RandomAccessFile(std::move(file)) : nullptr);
  return opened;
}

IOStatus JoulioFileSystem::NewWritableFile(const std::string& path, const FileOptions& options,
                                           std::unique_ptr<rocksdb::FSWritableFile>* result,
                                           IODebugContext*) {
  std::shared_ptr<File> file;
  IOStatus opened = OpenFile(path, Create::kYes, &file);
  if (opened.ok()) {
    opened = file->Truncate(0);
  }
  result->reset(opened.ok() ? new WritableFile(std::move(file), options) : nullptr);
  return opened;
}

IOStatus JoulioFileSystem::ReopenWritableFile(const std::string& path, const FileOptions& options,
                                              std::unique_ptr<rocksdb::FSWritableFile>* result,
                                              IODebugContext*) {
  std::shared_ptr<File> file;
  IOStatus opened = OpenFile(path, Create::kYes, &file);
  result->reset(opened.ok() ? new WritableFile(std::move(file), options) : nullptr);
  return opened;
}

IOStatus JoulioFileSystem::ReuseWritableFile(const std::string& path, const std::string& old_path,
                                             const FileOptions& options,
                                             std::unique_ptr<rocksdb::FSWritableFile>* result,
                                             IODebugContext* dbg) {
  IOStatus renamed = volume().Rename(NameOf(old_path), NameOf(path));
  return renamed.ok() ? NewWritableFile(path, options, result, dbg) : renamed;
}

IOStatus JoulioFileSystem::NewRandomRWFile(const std::string& path, const FileOptions&,
                                           std::unique_ptr<rocksdb::FSRandomRWFile>* result,
                                           IODebugContext*) {
  std::shared_ptr<File> file;
  IOStatus opened = OpenFile(path, Create::kNo, &file);
  result->reset(opened.ok() ? new RandomRWFile(std::move(file)) : nullptr);
  return opened;
}

IOStatus JoulioFileSystem::NewDirectory(const std::string& path, const IOOptions&,
                                        std::unique_ptr<rocksdb::FSDirectory>* result, IODebugContext*) {
  const std::string dir = NameOf(path);
  if (!HasDirectory(dir)) {
    result->reset();
    return IOStatus::PathNotFound(path, "there is no such directory on the volume");
  }
  result->reset(new Directory(mount_->shared_volume()));
  return IOStatus::OK();
}

IOStatus JoulioFileSystem::NewLogger(const std::string& path, const IOOptions&,
                                     std::shared_ptr<rocksdb::Logger>* result, IODebugContext*) {
  const Uri& uri = volume().uri();
  if (!uri.log || !uri.allow_write) {
    *result = std::make_shared<NoLogger>();
    return IOStatus::OK();
  }
  std::shared_ptr<File> file;
  IOStatus opened = OpenFile(path, Create::kYes, &file);
  if (opened.ok()) {
    opened = file->Truncate(0);
  }
  *result = opened.ok() ? std::make_shared<FileLogger>(std::move(file)) : nullptr;
  return opened;
}

IOStatus JoulioFileSystem::FileExists(const std::string& path, const IOOptions&, IODebugContext*) {
  const std::string name = NameOf(path);
  uint64_t size = 0;
  if (HasDirectory(name) || volume().Size(name, &size).ok()) {
    return IOStatus::OK();
  }
  return IOStatus::NotFound(path, "no such file or directory on the volume");
}

IOStatus JoulioFileSystem::IsDirectory(const std::string& path, const IOOptions& options, bool* is_dir,
                                       IODebugContext* dbg) {
  *is_dir = HasDirectory(NameOf(path));
  return *is_dir ? IOStatus::OK() : FileExists(path, options, dbg);
}

IOStatus JoulioFileSystem::GetChildren(const std::string& path, const IOOptions&,
                                       std::vector<std::string>* result, IODebugContext*) {
  const std::string dir = NameOf(path);
  std::vector<std::string> names;
  IOStatus listed = volume().Names(dir + '/', &names);
  for (std::string& made : mount_->directories().Below(dir)) {
    names.push_back(std::move(made));
  }
  *result = ChildrenOf(dir, names);
  if (listed.ok() && names.empty() && !mount_->directories().Has(dir)) {
    return IOStatus::NotFound(path, "there is no such directory on the volume");
  }
  return listed;
}

IOStatus JoulioFileSystem::GetFileSize(const std::string& path, const IOOptions&, uint64_t* size,
                                       IODebugContext*) {
  return volume().Size(NameOf(path), size);
}

IOStatus JoulioFileSystem::GetFileModificationTime(const std::string& path, const IOOptions&, uint64_t*,
                                                   IODebugContext*) {
  return IOStatus::NotSupported(path, "files of a volume have no times");
}

IOStatus JoulioFileSystem::GetFreeSpace(const std::string&, const IOOptions&, uint64_t* bytes,
                                        IODebugContext*) {
  return volume().FreeSpace(bytes);
}

IOStatus JoulioFileSystem::GetAbsolutePath(const std::string& path, const IOOptions&, std::string* result,
                                           IODebugContext*) {
  *result = NameOf(path);
  return IOStatus::OK();
}

IOStatus JoulioFileSystem::GetTestDirectory(const IOOptions&, std::string* result, IODebugContext*) {
  *result = "/rocksdbtest";
  mount_->directories().Make(*result);
  return IOStatus::OK();
}

IOStatus JoulioFileSystem::DeleteFile(const std::string& path, const IOOptions&, IODebugContext*) {
  return volume().Remove(NameOf(path));
}

IOStatus JoulioFileSystem::Truncate(const std::string& path, size_t size, const IOOptions&, IODebugContext*) {
  std::shared_ptr<File> file;
  IOStatus opened = OpenFile(path, Create::kNo, &file);
  return opened.ok() ? file->Truncate(size) : opened;
}

IOStatus JoulioFileSystem::RenameFile(const std::string& from, const std::string& to, const IOOptions&,
                                      IODebugContext*) {
  const std::string name = NameOf(from);
  IOStatus renamed = volume().Rename(name, NameOf(to));
  if (renamed.IsPathNotFound() && HasDirectory(name)) {
    return RenameDirectory(name, NameOf(to));
  }
  return renamed;
}

IOStatus JoulioFileSystem::RenameDirectory(const std::string& from, const std::string& to) {
  std::vector<std::string> names;
  uint64_t size = 0;
  IOStatus listed = volume().Names(to + '/', &names);
  if (!listed.ok()) {
    return listed;
  }
  if (!names.empty() || volume().Size(to, &size).ok()) {
    return IOStatus::IOError(to, "exists already");
  }
  listed = volume().Names(from + '/', &names);
  if (!listed.ok()) {
    return listed;
  }
  const std::string current = from + "/CURRENT";
  std::stable_partition(names.begin(), names.end(), [&](const std::string& name) { return name != current; });
  for (const std::string& name : names) {
    IOStatus renamed = volume().Rename(name, to + name.substr(from.size()));
    if (!renamed.ok()) {
      return renamed;
    }
  }
  Directories& directories = mount_->directories();
  for (const std::string& made : directories.Below(from)) {
    directories.Remove(made);
    directories.Make(to + made.substr(from.size()));
  }
  directories.Remove(from);
  directories.Make(to);
  return IOStatus::OK();
}

IOStatus JoulioFileSystem::CreateDir(const std::string& path, const IOOptions& options, IODebugContext* dbg) {
  if (FileExists(path, options, dbg).ok()) {
    return IOStatus::IOError(path, "exists already");
  }
  return CreateDirIfMissing(path, options, dbg);
}

IOStatus JoulioFileSystem::CreateDirIfMissing(const std::string& path, const IOOptions&, IODebugContext*) {
  const std::string dir = NameOf(path);
  uint64_t size = 0;
  if (volume().Size(dir, &size).ok()) {
    return IOStatus::IOError(path, "exists already, as a file");
  }
  mount_->directories().Make(dir);
  return IOStatus::OK();
}

IOStatus JoulioFileSystem::DeleteDir(const std::string& path, const IOOptions& options, IODebugContext* dbg) {
  std::vector<std::string> children;
  IOStatus listed = GetChildren(path, options, &children, dbg);
  if (!listed.ok()) {
    return listed;
  }
  if (!children.empty()) {
    return IOStatus::IOError(path, "the directory is not empty");
  }
  mount_->directories().Remove(NameOf(path));
  return IOStatus::OK();
}

IOStatus JoulioFileSystem::LockFile(const std::string& path, const IOOptions&, rocksdb::FileLock** lock,
                                    IODebugContext*) {
  const std::string name = NameOf(path);
  *lock = mount_->Lock(name) ? new NameLock(name) : nullptr;
  return *lock != nullptr ? IOStatus::OK() : IOStatus::IOError(path, "locked by this process already");
}

IOStatus JoulioFileSystem::UnlockFile(rocksdb::FileLock* lock, const IOOptions&, IODebugContext*) {
  auto* held = static_cast<NameLock*>(lock);
  mount_->Unlock(held->name);
  delete held;
  return IOStatus::OK();
}

IOStatus JoulioFileSystem::Poll(std::vector<void*>& handles, size_t) {
  for (void* handle : handles) {
    static_cast<AsyncRead*>(handle)->Finish();
  }
  return IOStatus::OK();
}

IOStatus JoulioFileSystem::AbortIO(std::vector<void*>& handles) {
  for (void* handle : handles) {
    static_cast<AsyncRead*>(handle)->Abort();
  }
  return IOStatus::OK();
}

}  // namespace joulio
