#include "mount.h"

#include <cstdio>
#include <map>

namespace joulio {

std::shared_ptr<Mount> Mount::Of(const std::string& text, std::string* wrong) {
  // Never destroyed: RocksDB may be in use until the very end of a program.
  static auto* mutex = new std::mutex;
  static auto* mounts = new std::map<std::string, std::weak_ptr<Mount>>;
  std::lock_guard<std::mutex> lock(*mutex);
  std::weak_ptr<Mount>& known = (*mounts)[text];
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

Mount::~Mount() {
  const Uri& uri = volume_->uri();
  if (uri.allow_write) {
    IOStatus synced = volume_->SyncAll();
    if (!synced.ok()) {
      std::fprintf(stderr, "joulio: not all could be written: %s\n", synced.ToString().c_str());
    }
  }
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
