// Asynchronous reads, beside synchronous ones of the same bytes.
//
//   asynchronous files URI     writes a file and reads it by ReadAsync(), Poll() and AbortIO(): 12 reads in flight,
//                              and others aborted, or deleted, with the device at work
//   asynchronous scan URI DB   reads the database's keys and values with and without ReadOptions::async_io
//
// SPDX-License-Identifier: MIT OR Apache-2.0
#include <rocksdb/convenience.h>
#include <rocksdb/db.h>
#include <rocksdb/env.h>
#include <rocksdb/file_system.h>
#include <rocksdb/options.h>
#include <rocksdb/table.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <thread>
#include <vector>

namespace {

using rocksdb::FileSystem;
using rocksdb::FSRandomAccessFile;
using rocksdb::FSReadRequest;
using rocksdb::IOStatus;
using rocksdb::Slice;

// The end is not a block's.
constexpr size_t kFileSize = (1 << 20) + 777;

void Claim(bool holds, const std::string& text) {
  if (!holds) {
    std::fprintf(stderr, "asynchronous: %s\n", text.c_str());
    std::exit(1);
  }
}

void Must(const rocksdb::Status& status, const char* what) { Claim(status.ok(), what + (": " + status.ToString())); }

char ByteAt(size_t at) { return static_cast<char>(at / 512 * 7 + at % 251); }

// A read in flight, with its memory on the heap, so that valgrind sees who writes there later.
struct Reading {
  Reading(uint64_t at, size_t bytes) : offset(at), length(bytes), memory(new char[bytes]) {}
  ~Reading() { Delete(); }
  Reading(const Reading&) = delete;
  Reading& operator=(const Reading&) = delete;

  void Start(FSRandomAccessFile* file) {
    FSReadRequest request;
    request.offset = offset;
    request.len = length;
    request.scratch = memory.get();
    auto callback = [](const FSReadRequest& ended, void* argument) {
      auto* reading = static_cast<Reading*>(argument);
      reading->calls++;
      reading->status = ended.status;
      reading->result = ended.result;
    };
    Must(file->ReadAsync(request, rocksdb::IOOptions(), callback, this, &handle, &deleter, nullptr), "ReadAsync");
    Claim(handle != nullptr && deleter != nullptr, "ReadAsync made no handle");
    Claim(calls == 0, "ReadAsync called the callback");
  }

  void Poll(FileSystem* files) {
    std::vector<void*> handles{handle};
    Must(files->Poll(handles, 1), "Poll");
  }

  void Abort(FileSystem* files) {
    std::vector<void*> handles{handle};
    Must(files->AbortIO(handles), "AbortIO");
  }

  void Delete() {
    if (handle != nullptr) {
      deleter(handle);
      handle = nullptr;
    }
  }

  // The bytes are the file's, and those of a synchronous read.
  void Check(FSRandomAccessFile* file) const {
    Claim(calls == 1, std::to_string(calls) + " calls of the callback");
    Must(status, "an asynchronous read");
    std::vector<char> memory_of_other(length);
    Slice other;
    Must(file->Read(offset, length, rocksdb::IOOptions(), &other, memory_of_other.data(), nullptr), "Read");
    Claim(result.data() == memory.get() && result == other, "another result than of Read");
    for (size_t i = 0; i < result.size(); i++) {
      Claim(result[i] == ByteAt(offset + i), "not the file's bytes");
    }
  }

  const uint64_t offset;
  const size_t length;
  std::unique_ptr<char[]> memory;
  void* handle = nullptr;
  rocksdb::IOHandleDeleter deleter;
  int calls = 0;
  IOStatus status;
  Slice result;
};

std::unique_ptr<Reading> Started(FSRandomAccessFile* file, uint64_t offset, size_t length) {
  auto reading = std::make_unique<Reading>(offset, length);
  reading->Start(file);
  return reading;
}

// The end of the file is not written to the volume yet.
std::unique_ptr<rocksdb::FSWritableFile> Write(FileSystem* files, const std::string& name) {
  std::unique_ptr<rocksdb::FSWritableFile> file;
  Must(files->NewWritableFile(name, rocksdb::FileOptions(), &file, nullptr), "NewWritableFile");
  std::string bytes(kFileSize, 0);
  for (size_t i = 0; i < bytes.size(); i++) {
    bytes[i] = ByteAt(i);
  }
  const Slice all(bytes);
  Must(file->Append(Slice(all.data(), all.size() - 5000), rocksdb::IOOptions(), nullptr), "Append");
  Must(file->Append(Slice(all.data() + all.size() - 5000, 5000), rocksdb::IOOptions(), nullptr), "Append");
  return file;
}

void SideBySide(FileSystem* files, FSRandomAccessFile* file) {
  std::vector<std::unique_ptr<Reading>> readings;
  for (unsigned i = 0; i < 11; i++) {
    readings.push_back(Started(file, 90001 * i, 1 + 4999 * i));
  }
  // More than one command, and beyond the end.
  readings.push_back(Started(file, kFileSize - 300000, 400000));
  std::vector<void*> handles;
  for (auto reading = readings.rbegin() + 1; reading != readings.rend(); ++reading) {
    handles.push_back((*reading)->handle);
  }
  Must(files->Poll(handles, handles.size()), "Poll");
  Must(files->Poll(handles, handles.size()), "Poll once more");
  std::thread([&] { readings.back()->Poll(files); }).join();
  for (const auto& reading : readings) {
    reading->Check(file);
  }
  // Nothing is in flight any more.
  readings[0]->Abort(files);
  Claim(readings[0]->calls == 1, "an abort of a read that had ended called the callback");
}

// Their memory is freed at once.
void GivenUp(FileSystem* files, FSRandomAccessFile* file) {
  for (unsigned i = 0; i < 20; i++) {
    auto aborted = Started(file, 5000 * i, 200000);
    auto beside = Started(file, 7000 * i, 100);
    aborted->Abort(files);
    Claim(aborted->calls == 1 && aborted->status.IsAborted(), "an abort has another status");
    aborted->Poll(files);
    Claim(aborted->calls == 1, "Poll called the callback of an aborted read");
    aborted.reset();
    beside->Poll(files);
    beside->Check(file);
    auto deleted = Started(file, 3000 * i, 50000);
    deleted->Delete();
    Claim(deleted->calls == 0, "to delete a read called the callback");
  }
}

int Files(const std::string& uri) {
  std::shared_ptr<FileSystem> files;
  Must(FileSystem::CreateFromString(rocksdb::ConfigOptions(), uri, &files), "URI");
  std::unique_ptr<rocksdb::FSWritableFile> writer = Write(files.get(), "/file");
  std::unique_ptr<FSRandomAccessFile> file;
  Must(files->NewRandomAccessFile("/file", rocksdb::FileOptions(), &file, nullptr), "NewRandomAccessFile");
  SideBySide(files.get(), file.get());
  GivenUp(files.get(), file.get());
  // A read outlives its file, and the file's name.
  auto last = Started(file.get(), 100, 100000);
  writer.reset();
  file.reset();
  Must(files->DeleteFile("/file", rocksdb::IOOptions(), nullptr), "DeleteFile");
  last->Poll(files.get());
  Must(last->status, "a read of a removed file");
  Claim(last->result.size() == 100000 && last->result[99999] == ByteAt(100 + 99999), "not the removed file's bytes");
  return 0;
}

// All keys and values, and those from some seeks on.
std::string Scan(rocksdb::DB* db, bool asynchronous) {
  rocksdb::ReadOptions options;
  options.async_io = asynchronous;
  options.readahead_size = 64 << 10;
  options.verify_checksums = true;
  std::unique_ptr<rocksdb::Iterator> every(db->NewIterator(options));
  std::string all;
  auto take = [&] { all += every->key().ToString() + '=' + every->value().ToString() + '\n'; };
  std::vector<std::string> some;
  size_t index = 0;
  for (every->SeekToFirst(); every->Valid(); every->Next()) {
    take();
    if (index++ % 500 == 0) {
      some.push_back(every->key().ToString());
    }
  }
  Must(every->status(), "scan");
  for (const std::string& key : some) {
    // A short one, whose read-ahead nobody waits for.
    std::unique_ptr<rocksdb::Iterator> few(db->NewIterator(options));
    few->Seek(key);
    every->Seek(key);
    for (int i = 0; i < 20 && every->Valid(); i++) {
      Claim(few->Valid() && few->key() == every->key(), "two iterators differ");
      take();
      every->Next();
      few->Next();
    }
    Must(every->status(), "seek");
    Must(few->status(), "seek");
  }
  return all;
}

int Scans(const std::string& uri, const std::string& name) {
  // Without a cache, so that each scan reads from the device.
  rocksdb::BlockBasedTableOptions table;
  table.no_block_cache = true;
  rocksdb::Options options;
  options.table_factory.reset(rocksdb::NewBlockBasedTableFactory(table));
  std::shared_ptr<rocksdb::Env> env;
  Must(rocksdb::Env::CreateFromUri(rocksdb::ConfigOptions(), "", uri, &options.env, &env), "URI");
  rocksdb::DB* opened = nullptr;
  Must(rocksdb::DB::OpenForReadOnly(options, name, &opened), "open");
  std::unique_ptr<rocksdb::DB> db(opened);
  const std::string synchronous = Scan(db.get(), false), asynchronous = Scan(db.get(), true);
  Claim(!synchronous.empty() && synchronous == asynchronous, "asynchronous reads found something else");
  std::printf("%zu bytes of keys and values, the same by both\n", synchronous.size());
  return 0;
}

}  // namespace

int main(int count, char** words) {
  if (count == 3 && std::strcmp(words[1], "files") == 0) {
    return Files(words[2]);
  }
  if (count == 4 && std::strcmp(words[1], "scan") == 0) {
    return Scans(words[2], words[3]);
  }
  std::fprintf(stderr, "asynchronous: files URI, or scan URI DB\n");
  return 2;
}
