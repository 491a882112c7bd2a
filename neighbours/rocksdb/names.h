// Names of files and directories: a volume has files only, with paths as their names.
//
// SPDX-License-Identifier: MIT OR Apache-2.0
#pragma once

#include <mutex>
#include <set>
#include <string>
#include <vector>

namespace joulio {

// `path` as the name of a file: one slash before each part, none at the end. The root is empty.
std::string NameOf(const std::string& path);

// What stands in directory `dir` among `names`, which all begin with `dir` and a slash: files, and each
// directory once.
std::vector<std::string> ChildrenOf(const std::string& dir, const std::vector<std::string>& names);

// Directories that were made, and may be empty. They last as long as the process: one with a file in it
// is there by the file's name.
class Directories {
 public:
  void Make(const std::string& dir);
  void Remove(const std::string& dir);
  bool Has(const std::string& dir);
  // Names of those below `dir`.
  std::vector<std::string> Below(const std::string& dir);

 private:
  std::mutex mutex_;
  std::set<std::string> made_;
};

}  // namespace joulio
