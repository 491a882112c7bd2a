#include "volume.h"

#include <cerrno>
#include <exception>

#include "file.h"

namespace joulio {

std::shared_ptr<Volume> Volume::Open(const Uri& uri, std::string* wrong) {
  if (joulio_check_interface(JOULIO_INTERFACE) != 0) {
    *wrong = joulio_error();
    return nullptr;
  }
  std::shared_ptr<Volume> made(new Volume(uri));
  const unsigned access = uri.allow_write ? JOULIO_ALLOW_WRITE : 0;
  made->controller_ = joulio_open(uri.device.c_str(), uri.queues, access);
  if (made->controller_ == nullptr) {
    *wrong = joulio_error();
    return nullptr;
  }
  unsigned format = 0;
  if (uri.format != Uri::Format::kNever) {
    format |= JOULIO_VOLUME_FORMAT;
  }
  if (uri.format == Uri::Format::kOverwrite) {
    format |= JOULIO_VOLUME_OVERWRITE;
  }
  made->volume_ = joulio_volume_open(made->controller_, uri.completion.c_str(), format);
  if (made->volume_ == nullptr) {
    *wrong = joulio_error();
    if (wrong->find("no volume") != std::string::npos) {
      *wrong += "; allow_write=1&format=1 makes one, and what is on the device is lost";
    }
    return nullptr;
  }
  return made;
}

Volume::~Volume() {
  joulio_volume_close(volume_);
  joulio_close(controller_);
}

IOStatus Volume::MayWrite(const std::string& name) const {
  if (uri_.allow_write) {
    return IOStatus::OK();
  }
  return IOStatus::IOError(name, "the volume is only read: allow_write=1 in the URI lets it be changed");
}

IOStatus Volume::OpenFile(const std::string& name, Create create, std::shared_ptr<File>* file) {
  if (create == Create::kYes) {
    IOStatus may = MayWrite(name);
    if (!may.ok()) {
      return may;
    }
  }
  std::lock_guard<std::mutex> lock(mutex_);
  std::weak_ptr<File>& known = files_[name];
  *file = known.lock();
  if (*file != nullptr) {
    return IOStatus::OK();
  }
  const unsigned flags = create == Create::kYes ? JOULIO_FILE_CREATE : 0;
  joulio_file* opened = joulio_file_open(volume_, name.c_str(), flags);
  if (opened == nullptr) {
    files_.erase(name);
    const bool absent = joulio_volume_stat(volume_, name.c_str(), nullptr) == -ENOENT;
    return Failed(name, absent ? -ENOENT : -EIO);
  }
  *file = std::make_shared<File>(shared_from_this(), name, opened);
  known = *file;
  return IOStatus::OK();
}

IOStatus Volume::Size(const std::string& name, uint64_t* size) {
  std::shared_ptr<File> open;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    auto found = files_.find(name);
    if (found != files_.end()) {
      open = found->second.lock();
    }
    if (open == nullptr) {
      return StatusOf(name, joulio_volume_stat(volume_, name.c_str(), size));
    }
  }
  return open->Size(size);
}

IOStatus Volume::Remove(const std::string& name) {
  IOStatus may = MayWrite(name);
  if (!may.ok()) {
    return may;
  }
  std::lock_guard<std::mutex> lock(mutex_);
  const int removed = joulio_volume_remove(volume_, name.c_str());
  if (removed == 0) {
    files_.erase(name);
  }
  return StatusOf(name, removed);
}

IOStatus Volume::Rename(const std::string& from, const std::string& to) {
  IOStatus may = MayWrite(from);
  if (!may.ok()) {
    return may;
  }
  std::lock_guard<std::mutex> lock(mutex_);
  const int renamed = joulio_volume_rename(volume_, from.c_str(), to.c_str());
  if (renamed == 0 && from != to) {
    files_.erase(to);
    auto node = files_.extract(from);
    if (!node.empty()) {
      node.key() = to;
      files_.insert(std::move(node));
    }
  }
  return StatusOf(from, renamed);
}

IOStatus Volume::Names(const std::string& prefix, std::vector<std::string>* names) {
  names->clear();
  struct Collected {
    std::vector<std::string>* names;
    std::exception_ptr thrown;
  };
  // An exception may not pass through the library.
  auto collect = [](void* context, const char* name) {
    auto* collected = static_cast<Collected*>(context);
    try {
      collected->names->push_back(name);
    } catch (...) {
      collected->thrown = std::current_exception();
    }
  };
  Collected collected = {names, nullptr};
  const int found = joulio_volume_names(volume_, prefix.c_str(), collect, &collected);
  if (collected.thrown) {
    std::rethrow_exception(collected.thrown);
  }
  return StatusOf(prefix, found);
}

IOStatus Volume::FreeSpace(uint64_t* bytes) {
  return StatusOf("volume", joulio_volume_space(volume_, nullptr, bytes));
}

IOStatus Volume::SyncNames() {
  counts_.syncs++;
  return StatusOf("volume", joulio_volume_sync(volume_));
}

IOStatus Volume::SyncAll() {
  std::vector<std::shared_ptr<File>> open;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    for (const auto& named : files_) {
      open.push_back(named.second.lock());
    }
  }
  IOStatus first;
  for (const auto& file : open) {
    IOStatus drained = file == nullptr ? IOStatus::OK() : file->Drain();
    if (first.ok()) {
      first = drained;
    }
  }
  IOStatus synced = SyncNames();
  return first.ok() ? synced : first;
}

joulio_counters Volume::WaitCounters() const {
  joulio_counters counters{};
  joulio_volume_counters(volume_, &counters);
  return counters;
}

}  // namespace joulio
