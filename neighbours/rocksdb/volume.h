// A volume of libjoulio, with the files of it that are open.
//
// SPDX-License-Identifier: MIT OR Apache-2.0
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "counts.h"
#include "joulio.h"
#include "status.h"
#include "uri.h"

namespace joulio {

class File;

// All handles of a name share one File, which has what was appended and not yet written. Who has files
// open has the volume.
class Volume : public std::enable_shared_from_this<Volume> {
 public:
  // Opens device and volume. Null: `*wrong` is one line that says why.
  static std::shared_ptr<Volume> Open(const Uri& uri, std::string* wrong);
  ~Volume();
  Volume(const Volume&) = delete;
  Volume& operator=(const Volume&) = delete;

  enum class Create { kNo, kYes };
  IOStatus OpenFile(const std::string& name, Create create, std::shared_ptr<File>* file);
  IOStatus Size(const std::string& name, uint64_t* size);
  IOStatus Remove(const std::string& name);
  IOStatus Rename(const std::string& from, const std::string& to);
  IOStatus Names(const std::string& prefix, std::vector<std::string>* names);
  IOStatus FreeSpace(uint64_t* bytes);
  // Makes names, and what was written until now, durable.
  IOStatus SyncNames();
  // The same with what files keep.
  IOStatus SyncAll();

  const Uri& uri() const { return uri_; }
  Counts& counts() { return counts_; }
  joulio_controller* controller() const { return controller_; }
  joulio_counters WaitCounters() const;

 private:
  explicit Volume(const Uri& uri) : uri_(uri) {}
  IOStatus MayWrite(const std::string& name) const;

  const Uri uri_;
  joulio_controller* controller_ = nullptr;
  joulio_volume* volume_ = nullptr;
  Counts counts_;
  // Held over changes of names too, so that no name leads to the file that had it before.
  std::mutex mutex_;
  std::map<std::string, std::weak_ptr<File>> files_;
};

}  // namespace joulio
