#include "names.h"

namespace joulio {

std::string NameOf(const std::string& path) {
  std::string name;
  for (size_t at = 0; at < path.size();) {
    const size_t slash = path.find('/', at);
    const size_t end = slash == std::string::npos ? path.size() : slash;
    const std::string part = path.substr(at, end - at);
    if (!part.empty() && part != ".") {
      name += '/' + part;
    }
    at = end + 1;
  }
  return name;
}

std::vector<std::string> ChildrenOf(const std::string& dir, const std::vector<std::string>& names) {
  std::set<std::string> children;
  for (const std::string& name : names) {
    const size_t begin = dir.size() + 1;
    children.insert(name.substr(begin, name.find('/', begin) - begin));
  }
  return std::vector<std::string>(children.begin(), children.end());
}

void Directories::Make(const std::string& dir) {
  std::lock_guard<std::mutex> lock(mutex_);
  made_.insert(dir);
}

void Directories::Remove(const std::string& dir) {
  std::lock_guard<std::mutex> lock(mutex_);
  made_.erase(dir);
}

bool Directories::Has(const std::string& dir) {
  std::lock_guard<std::mutex> lock(mutex_);
  return dir.empty() || made_.count(dir) > 0;
}

std::vector<std::string> Directories::Below(const std::string& dir) {
  std::lock_guard<std::mutex> lock(mutex_);
  std::vector<std::string> below;
  for (const std::string& made : made_) {
    if (made.compare(0, dir.size() + 1, dir + '/') == 0) {
      below.push_back(made);
    }
  }
  return below;
}

}  // namespace joulio
