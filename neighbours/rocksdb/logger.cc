#include "logger.h"

#include <sys/time.h>
#include <unistd.h>

#include <cstdio>
#include <ctime>
#include <string>

namespace joulio {
namespace {

std::string Stamp() {
  timeval now;
  gettimeofday(&now, nullptr);
  tm local;
  localtime_r(&now.tv_sec, &local);
  char text[96];
  const size_t length = std::strftime(text, sizeof(text), "%Y/%m/%d-%H:%M:%S", &local);
  std::snprintf(text + length, sizeof(text) - length, ".%06ld %d ", static_cast<long>(now.tv_usec),
                static_cast<int>(gettid()));
  return text;
}

// `format` with `arguments`, of any length.
std::string Text(const char* format, va_list arguments) {
  va_list again;
  va_copy(again, arguments);
  const int length = std::vsnprintf(nullptr, 0, format, again);
  va_end(again);
  if (length <= 0) {
    return "";
  }
  std::string text(static_cast<size_t>(length), '\0');
  std::vsnprintf(&text[0], text.size() + 1, format, arguments);
  return text;
}

}  // namespace

FileLogger::~FileLogger() {
  if (!closed_) {
    closed_ = true;
    CloseImpl().PermitUncheckedError();
  }
}

// A log that cannot be written stops nobody.
void FileLogger::Logv(const char* format, va_list arguments) {
  std::string line = Stamp() + Text(format, arguments);
  if (line.back() != '\n') {
    line += '\n';
  }
  file_->Append(line).PermitUncheckedError();
  bytes_ += line.size();
}

void FileLogger::Flush() { file_->Drain().PermitUncheckedError(); }

rocksdb::Status FileLogger::CloseImpl() { return file_->Drain(); }

}  // namespace joulio
