// Failures of libjoulio as RocksDB's status.
//
// SPDX-License-Identifier: MIT OR Apache-2.0
#pragma once

#include <rocksdb/io_status.h>

#include <cerrno>
#include <string>

#include "joulio.h"

namespace joulio {

using rocksdb::IOStatus;

// `failed`: a negative errno of libjoulio, whose text the calling thread has.
inline IOStatus Failed(const std::string& name, int failed) {
  const char* text = joulio_error();
  switch (-failed) {
    case ENOENT:
      return IOStatus::PathNotFound(name, text);
    case ENOSPC:
      return IOStatus::NoSpace(name, text);
    case EINVAL:
      return IOStatus::InvalidArgument(name, text);
    default:
      return IOStatus::IOError(name, text);
  }
}

// `result` of a call of libjoulio.
inline IOStatus StatusOf(const std::string& name, int result) {
  return result < 0 ? Failed(name, result) : IOStatus::OK();
}

}  // namespace joulio
