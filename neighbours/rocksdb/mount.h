// A volume in use: opened, metered, and reported at its end.
//
// SPDX-License-Identifier: MIT OR Apache-2.0
#pragma once

#include <memory>
#include <mutex>
#include <set>
#include <string>

#include "names.h"
#include "report.h"
#include "volume.h"

namespace joulio {

// One for each URI and process, since the device is one process's: file systems share it.
class Mount {
 public:
  // The mount of `uri`. Null: `*wrong` is one line that says why.
  static std::shared_ptr<Mount> Of(const std::string& uri, std::string* wrong);
  // Makes all durable, and says on stderr what it came to.
  ~Mount();
  // Makes all durable; a failure is a line on stderr.
  void Sync();
  Mount(const Mount&) = delete;
  Mount& operator=(const Mount&) = delete;

  Volume& volume() const { return *volume_; }
  const std::shared_ptr<Volume>& shared_volume() const { return volume_; }
  Directories& directories() { return directories_; }
  // True if nobody had locked `name`.
  bool Lock(const std::string& name);
  void Unlock(const std::string& name);

 private:
  explicit Mount(std::shared_ptr<Volume> volume)
      : volume_(std::move(volume)), energy_(volume_->uri().meters, volume_->controller()) {}

  const std::shared_ptr<Volume> volume_;
  Energy energy_;
  Directories directories_;
  std::mutex mutex_;
  std::set<std::string> locked_;
};

}  // namespace joulio
