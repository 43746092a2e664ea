#include "base/store/places/transfer.h"

#include <unistd.h>

#include <future>
#include <set>

#include "base/core/text.h"
#include "base/store/crc32c.h"
#include "base/store/errors.h"
#include "base/store/hash.h"
#include "base/store/objects/bucket.h"

namespace hone {
namespace {

constexpr int64_t kBlock = 32 << 20;      // as large as a part that a bucket takes
constexpr int64_t kDiskBlock = 24 << 20;  // for a disk: one is written while the next is read

// Standard input, whose length nobody knows: H0105 never comes, a short block is the end.
Result<int64_t> read_block(int fd, std::vector<std::byte>& block) {
  block.resize(kBlock);
  size_t done = 0;
  while (done < block.size()) {
    const ssize_t n = ::read(fd, block.data() + done, block.size() - done);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return Error(err::kStoreFailed, "cannot read standard input");
    if (n == 0) break;
    done += static_cast<size_t>(n);
  }
  block.resize(done);
  return static_cast<int64_t>(done);
}

class OutputWriter : public Writer {
 public:
  Status write(std::span<const std::byte> bytes) override {
    while (!bytes.empty()) {
      const ssize_t n = ::write(STDOUT_FILENO, bytes.data(), bytes.size());
      if (n < 0 && errno == EINTR) continue;
      if (n <= 0) return Error(err::kStoreFailed, "cannot write to standard output");
      bytes = bytes.subspan(static_cast<size_t>(n));
    }
    return Ok{};
  }
  Status sync() override { return Ok{}; }
  Status commit() override { return Ok{}; }
};

Status add_files(Store& store, const std::string& folder, const std::string& below,
                 std::vector<TransferFile>& out) {
  for (const Store::Entry& e :
       HONE_TRY(store.list(below.empty() ? folder : folder + "/" + below))) {
    const std::string path = below.empty() ? e.name : below + "/" + e.name;
    if (e.folder)
      HONE_TRY(add_files(store, folder, path, out));
    else
      out.push_back({path, e.bytes});
  }
  return Ok{};
}

// The metadata of an object, without reading it.
Result<std::optional<ObjectInfo>> said_of(const std::string& url) {
  const std::optional<ObjectUrl> u = HONE_TRY(parse_object_url(url));
  if (!u || u->key.empty()) return std::optional<ObjectInfo>();
  return HONE_TRY(open_bucket(*u))->stat(u->key);
}

struct Sums {
  uint32_t crc = 0;
  std::string md5;
};
Result<Sums> sums_of(Store& store, const std::string& path) {
  const std::unique_ptr<Reader> reader = HONE_TRY(store.open(path));
  Md5 md5;
  Sums sums;
  std::vector<std::byte> block;
  for (int64_t at = 0; at < reader->bytes(); at += static_cast<int64_t>(block.size())) {
    block.resize(static_cast<size_t>(std::min(kBlock, reader->bytes() - at)));
    HONE_TRY(reader->read(at, block));
    sums.crc = crc32c(block, sums.crc);
    md5.add(block);
  }
  sums.md5 = md5.hex();
  return sums;
}

// Are two files of the same size the same? What stores say is enough where both sides say it.
Result<bool> are_same(Store& store, const std::string& a, const std::string& b) {
  const std::optional<ObjectInfo> x = HONE_TRY(said_of(a)), y = HONE_TRY(said_of(b));
  if (x && y) {
    if (x->crc32c && y->crc32c) return *x->crc32c == *y->crc32c;
    if (!x->md5.empty() && !y->md5.empty()) return x->md5 == y->md5;
    return false;
  }
  if (!x && !y) return HONE_TRY(sums_of(store, a)).md5 == HONE_TRY(sums_of(store, b)).md5;
  const ObjectInfo& said = x ? *x : *y;
  if (!said.crc32c && said.md5.empty()) return false;
  const Sums read = HONE_TRY(sums_of(store, x ? b : a));
  return said.crc32c ? *said.crc32c == read.crc : said.md5 == read.md5;
}

}  // namespace

Result<std::vector<TransferFile>> files_below(Store& store, const std::string& given) {
  const std::string folder = without_end_slash(given);
  const Store::Info info = HONE_TRY(store.info(folder));
  std::vector<TransferFile> files;
  if (info.exists && !info.folder)
    files.push_back({"", info.bytes});
  else
    HONE_TRY(add_files(store, folder, "", files));
  return files;
}

Result<int64_t> copy_file(Store& store, const std::string& from, const std::string& to,
                          const OnBytes& on_bytes) {
  const bool input = from == "-";
  const std::unique_ptr<Reader> reader = input ? nullptr : HONE_TRY(store.open(from));
  const int64_t most = HONE_TRY(parse_object_url(to)) ? kBlock : kDiskBlock;
  int64_t at = 0;
  std::vector<std::byte> block, next;
  const auto read = [&](std::vector<std::byte>& into) -> Result<int64_t> {
    if (input) return read_block(STDIN_FILENO, into);
    into.resize(static_cast<size_t>(std::min(most, reader->bytes() - at)));
    HONE_TRY(reader->read(at, into));
    return static_cast<int64_t>(into.size());
  };
  HONE_TRY(read(block));
  const std::unique_ptr<Writer> writer =
      to == "-" ? std::unique_ptr<Writer>(new OutputWriter) : HONE_TRY(store.create(to));
  int64_t done = 0;
  while (!block.empty()) {
    at += static_cast<int64_t>(block.size());
    std::future<Result<int64_t>> ahead = std::async(std::launch::async, [&] { return read(next); });
    const Status written = writer->write(block);
    const Result<int64_t> got = ahead.get();
    HONE_TRY(Status(written));
    HONE_TRY(Result<int64_t>(got));
    done += static_cast<int64_t>(block.size());
    if (on_bytes) on_bytes(static_cast<int64_t>(block.size()));
    std::swap(block, next);
  }
  HONE_TRY(writer->publish());
  return done;
}

Result<TransferResult> sync_folder(Store& store, const std::string& given_from,
                                   const std::string& given_to, bool remove,
                                   const OnBytes& on_bytes) {
  const std::string from = without_end_slash(given_from), to = without_end_slash(given_to);
  const std::vector<TransferFile> wanted = HONE_TRY(files_below(store, from));
  std::map<std::string, int64_t> have;
  if (HONE_TRY(store.exists(to)))
    for (TransferFile& f : HONE_TRY(files_below(store, to))) have[f.path] = f.bytes;
  TransferResult result;
  std::set<std::string> folders;
  for (const TransferFile& f : wanted) {
    const std::string source = f.path.empty() ? from : from + "/" + f.path,
                      target = f.path.empty() ? to : to + "/" + f.path;
    const auto there = have.find(f.path);
    const bool same = there != have.end() && there->second == f.bytes &&
                      HONE_TRY(are_same(store, source, target));
    if (there != have.end()) have.erase(there);
    if (same) {
      ++result.same;
      continue;
    }
    if (const size_t slash = target.rfind('/');
        slash != std::string::npos && folders.insert(target.substr(0, slash)).second)
      HONE_TRY(store.make_dirs(target.substr(0, slash)));
    result.bytes += HONE_TRY(copy_file(store, source, target, on_bytes));
    ++result.files;
  }
  if (remove)
    for (const auto& [path, bytes] : have) {
      HONE_TRY(store.remove(to + "/" + path));
      ++result.removed;
    }
  return result;
}

}  // namespace hone
