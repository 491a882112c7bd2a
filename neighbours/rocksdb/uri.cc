#include "uri.h"

#include <cstdlib>

namespace joulio {
namespace {

constexpr unsigned kMaxQueues = 65535;

// Sets `*flag` by "0" or "1"; false: neither.
bool ReadFlag(const std::string& value, bool* flag) {
  *flag = value == "1";
  return value == "0" || value == "1";
}

bool ReadNumber(const std::string& value, unsigned* number) {
  char* end = nullptr;
  const bool digits = !value.empty() && value.find_first_not_of("0123456789") == std::string::npos;
  const unsigned long read = digits ? std::strtoul(value.c_str(), &end, 10) : 0;
  *number = static_cast<unsigned>(read);
  return read >= 1 && read <= kMaxQueues;
}

bool ReadFormat(const std::string& value, Uri::Format* format) {
  if (value == "0") {
    *format = Uri::Format::kNever;
  } else if (value == "1") {
    *format = Uri::Format::kIfNone;
  } else if (value == "overwrite") {
    *format = Uri::Format::kOverwrite;
  } else {
    return false;
  }
  return true;
}

// Takes one KEY=VALUE. Empty, or what is wrong.
std::string ReadPair(const std::string& pair, Uri* uri) {
  const size_t equals = pair.find('=');
  const std::string key = pair.substr(0, equals);
  const std::string value = equals == std::string::npos ? "" : pair.substr(equals + 1);
  const std::string wrong = "'" + pair + "': ";
  if (key == "completion") {
    uri->completion = value;
    return value.empty() ? wrong + "a completion mode, as interrupt, poll or adaptive" : "";
  }
  if (key == "queues") {
    return ReadNumber(value, &uri->queues) ? "" : wrong + "a number from 1 to 65535";
  }
  if (key == "format") {
    return ReadFormat(value, &uri->format) ? "" : wrong + "0, 1 or overwrite";
  }
  if (key == "allow_write") {
    return ReadFlag(value, &uri->allow_write) ? "" : wrong + "0 or 1";
  }
  if (key == "log") {
    return ReadFlag(value, &uri->log) ? "" : wrong + "0 or 1";
  }
  if (key == "meter") {
    uri->meters = value;
    for (char& letter : uri->meters) {
      letter = letter == '+' ? ' ' : letter;
    }
    return value.empty() ? wrong + "all, none, or meters with + between them" : "";
  }
  return wrong + "no such key; there are completion, queues, allow_write, format, meter and log";
}

}  // namespace

std::string ParseUri(const std::string& text, Uri* uri) {
  const std::string begin = std::string(kScheme) + "://";
  if (text.compare(0, begin.size(), begin) != 0) {
    return "a URI of joulio begins with " + begin;
  }
  const size_t query = text.find('?');
  uri->device = text.substr(begin.size(), query == std::string::npos ? query : query - begin.size());
  if (uri->device.empty()) {
    return "a device is missing: " + begin + "pcie:0000:01:00.0 or " + begin + "emulated:optane-900p";
  }
  for (size_t at = query; at != std::string::npos;) {
    const size_t next = text.find('&', at + 1);
    const size_t length = next == std::string::npos ? next : next - at - 1;
    std::string wrong = ReadPair(text.substr(at + 1, length), uri);
    if (!wrong.empty()) {
      return wrong;
    }
    at = next;
  }
  if (uri->format != Uri::Format::kNever && !uri->allow_write) {
    return "format= writes to the device: allow_write=1 is missing";
  }
  return "";
}

}  // namespace joulio
