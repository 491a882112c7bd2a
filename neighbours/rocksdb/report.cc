#include "report.h"

#include <cinttypes>
#include <cstdarg>
#include <cstdio>

namespace joulio {
namespace {

constexpr unsigned kMaxMeters = 32;

__attribute__((format(printf, 1, 2))) std::string Text(const char* format, ...) {
  char line[512];
  va_list arguments;
  va_start(arguments, format);
  std::vsnprintf(line, sizeof(line), format, arguments);
  va_end(arguments);
  return line;
}

double Mib(uint64_t bytes) { return static_cast<double>(bytes) / (1 << 20); }

// What the line says of asynchronous reads; nothing if there were none.
std::string AsyncReads(const Counts& counts) {
  const uint64_t reads = counts.async_reads, aborted = counts.aborted_reads, max = counts.async_in_flight_max;
  if (reads == 0) {
    return "";
  }
  return Text(", %" PRIu64 " asynchronous, %" PRIu64 " aborted, at most %" PRIu64 " in flight", reads, aborted, max);
}

}  // namespace

Energy::Energy(const std::string& words, joulio_controller* controller) {
  if (words == "none") {
    return;
  }
  meters_ = joulio_meters_open(words.c_str(), controller);
  if (meters_ == nullptr || joulio_meters_start(meters_) < 0) {
    wrong_ = joulio_error();
  }
}

std::string Energy::PerMillion(uint64_t operations) {
  if (!wrong_.empty()) {
    return "joules: " + wrong_;
  }
  if (meters_ == nullptr) {
    return "joules: no meter";
  }
  joulio_energy energies[kMaxMeters];
  const int count = joulio_meters_stop(meters_, energies, kMaxMeters);
  if (count < 0) {
    return std::string("joules: ") + joulio_error();
  }
  if (count == 0) {
    return "joules: no meter";
  }
  if (operations == 0) {
    return "joules: no operation";
  }
  std::string all;
  for (int i = 0; i < count; i++) {
    const joulio_energy& energy = energies[i];
    const double joules = energy.joules / static_cast<double>(operations) * 1e6;
    all += Text("%s%s by %s%s: %.6g J in %.3f s, %.4g J per million operations", i == 0 ? "" : "; ", energy.boundary,
                energy.meter, energy.modelled ? ", modelled" : "", energy.joules, energy.seconds, joules);
  }
  return all;
}

std::string Report(Volume& volume, Energy& energy) {
  const Counts& counts = volume.counts();
  const uint64_t reads = counts.reads, writes = counts.writes, syncs = counts.syncs;
  const uint64_t operations = reads + writes + syncs;
  const joulio_counters waits = volume.WaitCounters();
  const double each = operations == 0 ? 1 : static_cast<double>(operations);
  std::string line =
      Text("%" PRIu64 " reads (%.1f MiB, p99 %.1f us%s), %" PRIu64 " writes (%.1f MiB), %" PRIu64 " syncs", reads,
           Mib(counts.read_bytes), counts.read_nanos.P99() / 1e3, AsyncReads(counts).c_str(), writes,
           Mib(counts.written_bytes), syncs);
  line += Text("; an operation: %.2f polls, %.2f interrupts, %.2f blocks; ", waits.polls / each,
               waits.interrupts / each, waits.blocks / each);
  return line + energy.PerMillion(operations);
}

}  // namespace joulio
