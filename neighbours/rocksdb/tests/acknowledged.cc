// Which writes were acknowledged, and whether they are there.
//
//   acknowledged put URI DB SEED       puts synced keys until it is killed, each to stdout once it is
//                                      acknowledged
//   acknowledged leave URI DB SEED     puts 1000 keys that are not synced, each to stdout, and exits with the
//                                      database open
//   acknowledged check URI DB < KEYS   reads every key of stdin back; all others, and the whole database, too; and
//                                      says how long the volume and the database took to open, and how much CPU
//                                      time of the process
//
// SPDX-License-Identifier: MIT OR Apache-2.0
#include <rocksdb/convenience.h>
#include <rocksdb/db.h>
#include <rocksdb/env.h>
#include <rocksdb/options.h>
#include <unistd.h>

#include <chrono>
#include <climits>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <iostream>
#include <memory>
#include <string>

namespace {

// Small, so that there are flushes, compactions and new logs all the time.
rocksdb::Options Small() {
  rocksdb::Options options;
  options.create_if_missing = true;
  options.write_buffer_size = 64 << 10;
  options.target_file_size_base = 64 << 10;
  options.max_bytes_for_level_base = 256 << 10;
  options.level0_file_num_compaction_trigger = 2;
  return options;
}

void Must(const rocksdb::Status& status, const char* what) {
  if (!status.ok()) {
    std::fprintf(stderr, "acknowledged: %s: %s\n", what, status.ToString().c_str());
    std::exit(1);
  }
}

// The value that belongs to a key: of 100 to 1100 bytes.
std::string ValueOf(const std::string& key) {
  const size_t hash = std::hash<std::string>()(key);
  std::string value;
  while (value.size() < 100 + hash % 1000) {
    value += key + '/' + std::to_string(hash + value.size()) + ';';
  }
  return value;
}

void Put(rocksdb::DB* db, const std::string& seed, bool synced, unsigned long keys) {
  rocksdb::WriteOptions write_options;
  write_options.sync = synced;
  for (unsigned long number = 0; number < keys; number++) {
    // Spread, so that compactions have overlapping tables.
    const std::string key = std::to_string(number * 7919 % 10007) + '-' + seed + '-' + std::to_string(number);
    Must(db->Put(write_options, key, ValueOf(key)), "put");
    const std::string line = key + '\n';
    // A line at once, so that a kill leaves no half of one.
    if (write(STDOUT_FILENO, line.data(), line.size()) != static_cast<ssize_t>(line.size())) {
      std::exit(1);
    }
  }
}

// Keys that are missing or have another value.
unsigned long Check(rocksdb::DB* db, double opened, double cpu) {
  unsigned long asked = 0, found = 0, wrong = 0;
  rocksdb::ReadOptions verified;
  verified.verify_checksums = true;
  for (std::string key; std::getline(std::cin, key); asked++) {
    std::string value;
    if (!db->Get(verified, key, &value).ok() || value != ValueOf(key)) {
      std::fprintf(stderr, "acknowledged: %s is lost\n", key.c_str());
      wrong++;
    }
  }
  std::unique_ptr<rocksdb::Iterator> every(db->NewIterator(verified));
  for (every->SeekToFirst(); every->Valid(); every->Next(), found++) {
    wrong += every->value().ToString() != ValueOf(every->key().ToString());
  }
  Must(every->status(), "scan");
  Must(db->VerifyChecksum(), "checksums");
  std::printf("%lu acknowledged, %lu there, %lu wrong, opened in %.4f s, %.4f s of CPU time\n", asked, found, wrong,
              opened, cpu);
  return wrong;
}

// CPU time of the process in seconds, all its threads included.
double CpuSeconds() { return static_cast<double>(std::clock()) / CLOCKS_PER_SEC; }

}  // namespace

int main(int count, char** words) {
  const bool put = count == 5 && std::strcmp(words[1], "put") == 0;
  const bool leave = count == 5 && std::strcmp(words[1], "leave") == 0;
  if (!put && !leave && (count != 4 || std::strcmp(words[1], "check") != 0)) {
    std::fprintf(stderr, "acknowledged: put URI DB SEED, leave URI DB SEED, or check URI DB\n");
    return 2;
  }
  rocksdb::Options options = Small();
  if (leave) {
    // Nothing is flushed: the log alone has the keys.
    options.write_buffer_size = 64 << 20;
  }
  std::shared_ptr<rocksdb::Env> env;
  const auto begin = std::chrono::steady_clock::now();
  const double cpu_begin = CpuSeconds();
  Must(rocksdb::Env::CreateFromUri(rocksdb::ConfigOptions(), "", words[2], &options.env, &env), "URI");
  rocksdb::DB* opened = nullptr;
  Must(rocksdb::DB::Open(options, words[3], &opened), "open");
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - begin;
  const double cpu = CpuSeconds() - cpu_begin;
  std::unique_ptr<rocksdb::DB> db(opened);
  if (put) {
    Put(db.get(), words[4], true, ULONG_MAX);
  }
  if (leave) {
    Put(db.get(), words[4], false, 1000);
    // Without the end of `db`.
    std::exit(0);
  }
  return Check(db.get(), seconds.count(), cpu) == 0 ? 0 : 1;
}
