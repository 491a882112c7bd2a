// Makes joulio:// known to RocksDB as soon as the library is loaded, by LD_PRELOAD or the linker.
//
// SPDX-License-Identifier: MIT OR Apache-2.0
#include <rocksdb/utilities/object_registry.h>

#include "file_system.h"
#include "uri.h"

namespace joulio {
namespace {

using rocksdb::FileSystem;
using rocksdb::ObjectLibrary;

FileSystem* Make(const std::string& uri, std::unique_ptr<FileSystem>* guard, std::string* wrong) {
  std::shared_ptr<Mount> mount = Mount::Of(uri, wrong);
  guard->reset(mount == nullptr ? nullptr : new JoulioFileSystem(std::move(mount)));
  return guard->get();
}

__attribute__((constructor)) void Register() {
  // Any end, so that a URI without a device is told what is wrong with it.
  const auto uris = ObjectLibrary::PatternEntry(kScheme, false).AddSeparator("://", false);
  ObjectLibrary::Default()->AddFactory<FileSystem>(uris, Make);
}

}  // namespace
}  // namespace joulio
