// What reached the volume: reads, writes and syncs, and how long reads took.
//
// SPDX-License-Identifier: MIT OR Apache-2.0
#pragma once

#include <array>
#include <atomic>
#include <cstdint>

namespace joulio {

// Times in nanoseconds, in buckets a 32nd of their size wide.
class Histogram {
 public:
  void Add(uint64_t nanos) { buckets_[Bucket(nanos)].fetch_add(1, std::memory_order_relaxed); }

  // Upper end of the bucket that has the 99th of 100; 0: nothing was added.
  uint64_t P99() const {
    uint64_t all = 0, seen = 0;
    for (const auto& bucket : buckets_) {
      all += bucket.load(std::memory_order_relaxed);
    }
    for (unsigned index = 0; index < kBuckets && all > 0; index++) {
      seen += buckets_[index].load(std::memory_order_relaxed);
      if (seen * 100 >= all * 99) {
        return End(index);
      }
    }
    return 0;
  }

 private:
  static constexpr unsigned kBits = 5;
  static constexpr unsigned kBuckets = (64 - kBits + 1) << kBits;

  static unsigned Bucket(uint64_t nanos) {
    if (nanos < (1u << kBits)) {
      return static_cast<unsigned>(nanos);
    }
    const unsigned shift = 63 - __builtin_clzll(nanos) - kBits;
    return ((shift + 1) << kBits) + ((nanos >> shift) & ((1u << kBits) - 1));
  }

  static uint64_t End(unsigned bucket) {
    if (bucket < (1u << kBits)) {
      return bucket;
    }
    const unsigned shift = (bucket >> kBits) - 1;
    const uint64_t start = ((1ull << kBits) | (bucket & ((1u << kBits) - 1))) << shift;
    return start + (1ull << shift) - 1;
  }

  std::array<std::atomic<uint64_t>, kBuckets> buckets_{};
};

struct Counts {
  std::atomic<uint64_t> reads{0}, read_bytes{0};
  std::atomic<uint64_t> writes{0}, written_bytes{0};
  std::atomic<uint64_t> syncs{0};
  // Of the reads: those of ReadAsync(), and those of them that were aborted.
  std::atomic<uint64_t> async_reads{0}, aborted_reads{0};
  // Reads of ReadAsync() that were submitted and neither waited for nor aborted, and the most there were.
  std::atomic<uint64_t> async_in_flight{0}, async_in_flight_max{0};
  // For how long callers waited: of a read of ReadAsync() in that and in Poll().
  Histogram read_nanos;

  void StartAsyncRead() {
    const uint64_t in_flight = ++async_in_flight;
    uint64_t max = async_in_flight_max;
    while (max < in_flight && !async_in_flight_max.compare_exchange_weak(max, in_flight)) {
    }
  }
};

}  // namespace joulio
