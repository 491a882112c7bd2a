#include "mount.h"

#include <cstdio>
#include <cstdlib>
#include <map>
#include <vector>

namespace joulio {
namespace {

// The mounts of the process, by their URIs.
struct Mounts {
  std::mutex mutex;
  std::map<std::string, std::weak_ptr<Mount>> known;
};

// Never destroyed: RocksDB may be in use until the very end of a program.
Mounts& AllMounts() {
  static auto* mounts = new Mounts;
  return *mounts;
}

// For a program that exits without deleting its database, whose mount has no end.
void SyncAtExit() {
  std::vector<std::shared_ptr<Mount>> left;
  {
    Mounts& mounts = AllMounts();
    std::lock_guard<std::mutex> lock(mounts.mutex);
    for (const auto& named : mounts.known) {
      left.push_back(named.second.lock());
    }
  }
  for (const auto& mount : left) {
    if (mount != nullptr) {
      mount->Sync();
    }
  }
}

}  // namespace

std::shared_ptr<Mount> Mount::Of(const std::string& text, std::string* wrong) {
  static const int registered = std::atexit(SyncAtExit);
  static_cast<void>(registered);
  Mounts& mounts = AllMounts();
  std::lock_guard<std::mutex> lock(mounts.mutex);
  std::weak_ptr<Mount>& known = mounts.known[text];
  std::shared_ptr<Mount> mount = known.lock();
  if (mount != nullptr) {
    return mount;
  }
  Uri uri;
  *wrong = ParseUri(text, &uri);
  if (!wrong->empty()) {
    return nullptr;
  }
  std::shared_ptr<Volume> volume = Volume::Open(uri, wrong);
  if (volume == nullptr) {
    return nullptr;
  }
  mount.reset(new Mount(std::move(volume)));
  if (uri.meters != "all" && !mount->energy_.wrong().empty()) {
    *wrong = mount->energy_.wrong();
    return nullptr;
  }
  known = mount;
  return mount;
}

void Mount::Sync() {
  if (!volume_->uri().allow_write) {
    return;
  }
  IOStatus synced = volume_->SyncAll();
  if (!synced.ok()) {
    std::fprintf(stderr, "joulio: not all could be written: %s\n", synced.ToString().c_str());
  }
}

Mount::~Mount() {
  Sync();
  const Uri& uri = volume_->uri();
  std::fprintf(stderr, "joulio: %s, %s: %s\n", uri.device.c_str(), uri.completion.c_str(),
               Report(*volume_, energy_).c_str());
}

bool Mount::Lock(const std::string& name) {
  std::lock_guard<std::mutex> lock(mutex_);
  return locked_.insert(name).second;
}

void Mount::Unlock(const std::string& name) {
  std::lock_guard<std::mutex> lock(mutex_);
  locked_.erase(name);
}

}  // namespace joulio
