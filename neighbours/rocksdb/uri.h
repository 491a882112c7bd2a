// The URI of a file system: joulio://DEVICE[?KEY=VALUE&...].
//
// SPDX-License-Identifier: MIT OR Apache-2.0
#pragma once

#include <string>

namespace joulio {

inline constexpr char kScheme[] = "joulio";

// What a URI says. DEVICE is as `joulio bench --device` takes it.
struct Uri {
  enum class Format { kNever, kIfNone, kOverwrite };

  std::string device;
  std::string completion = "interrupt";
  // Meters as `joulio bench --meter` takes them, separated by spaces; "all".
  std::string meters = "all";
  unsigned queues = 8;
  Format format = Format::kNever;
  bool allow_write = false;
  bool log = true;
};

// Reads `text` into `*uri`. Empty, or one line that says what is wrong.
std::string ParseUri(const std::string& text, Uri* uri);

}  // namespace joulio
