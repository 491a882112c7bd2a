// The line at the end: operations, p99 of reads, what waiting cost, joules.
//
// SPDX-License-Identifier: MIT OR Apache-2.0
#pragma once

#include <memory>
#include <string>

#include "joulio.h"
#include "volume.h"

namespace joulio {

// Meters with a window as long as the object.
class Energy {
 public:
  // `words` as joulio_meters_open() has them.
  Energy(const std::string& words, joulio_controller* controller);
  ~Energy() { joulio_meters_close(meters_); }
  Energy(const Energy&) = delete;
  Energy& operator=(const Energy&) = delete;

  // Empty, or why there are no meters.
  const std::string& wrong() const { return wrong_; }
  // Ends the window; joules of each meter for a million of `operations`, or why there are none.
  std::string PerMillion(uint64_t operations);

 private:
  joulio_meters* meters_ = nullptr;
  std::string wrong_;
};

// One line, without its end.
std::string Report(Volume& volume, Energy& energy);

}  // namespace joulio
