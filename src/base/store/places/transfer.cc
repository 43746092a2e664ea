#include "base/store/places/transfer.h"

#include <unistd.h>

#include <future>
#include <set>

#include "base/core/output.h"
#include "base/core/text.h"
#include "base/store/crc32c.h"
#include "base/store/errors.h"
#include "base/store/hash.h"
#include "base/store/objects/bucket.h"
#include "base/store/places/object_store.h"

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
    print_out({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
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

constexpr size_t kLongestName = 255;  // bytes, of file systems

// Whether the parts of a path can be names of files and folders.
bool can_be_file(const std::string& path) {
  for (const std::string& part : split(path, '/'))
    if (part.empty() || part == "." || part == ".." || part.size() > kLongestName ||
        part.find('\0') != std::string::npos)
      return false;
  return true;
}

// Moves files whose path is a folder of others to `not_files`; `files` is sorted by path.
void take_out_folders(std::vector<TransferFile>& files, std::vector<TransferFile>& not_files) {
  std::set<std::string> folders;
  for (const TransferFile& f : files)
    for (size_t at = f.path.find('/'); at != std::string::npos; at = f.path.find('/', at + 1))
      folders.insert(f.path.substr(0, at));
  const auto is_folder = [&](const TransferFile& f) { return folders.contains(f.path); };
  std::copy_if(files.begin(), files.end(), std::back_inserter(not_files), is_folder);
  std::erase_if(files, is_folder);
}

// The files to copy from one folder to the other.
Result<std::vector<TransferFile>> files_to_copy(Store& store, const std::string& from,
                                                const std::string& to,
                                                std::vector<TransferFile>& not_files) {
  std::vector<TransferFile> files = HONE_TRY(files_below(store, from, &not_files));
  if (!HONE_TRY(parse_object_url(to))) take_out_folders(files, not_files);
  return files;
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

Result<bool> have_same_bytes(Store& store, const std::string& a, const std::string& b) {
  const int64_t bytes = HONE_TRY(store.bytes(a));
  return bytes == HONE_TRY(store.bytes(b)) && HONE_TRY(are_same(store, a, b));
}

Result<std::vector<TransferFile>> files_below(Store& store, const std::string& given,
                                              std::vector<TransferFile>* not_files) {
  const std::string folder = without_end_slash(given);
  const Store::Info info = HONE_TRY(store.info(folder));
  std::vector<TransferFile> files, others;
  if (info.exists && !info.folder) return std::vector<TransferFile>{{"", info.bytes}};
  const std::optional<ObjectUrl> url = HONE_TRY(parse_object_url(folder));
  if (!url || !info.exists) {  // listing says why there is none
    HONE_TRY(add_files(store, folder, "", files));
    return files;
  }
  const std::string prefix = url->key.empty() ? "" : url->key + "/";
  std::vector<ObjectInfo> unsafe;
  for (const ObjectInfo& o : HONE_TRY(all_objects(*HONE_TRY(open_bucket(*url)), prefix, &unsafe))) {
    const std::string path = o.key.substr(prefix.size());
    if (path.empty() || (path.ends_with('/') && o.bytes == 0)) continue;  // stands for a folder
    (can_be_file(path) ? files : others).push_back({path, o.bytes});
  }
  for (const ObjectInfo& o : unsafe) others.push_back({o.key.substr(prefix.size()), o.bytes});
  if (not_files == nullptr && !others.empty()) return left_out(folder, others);
  if (not_files != nullptr) *not_files = std::move(others);
  std::sort(files.begin(), files.end(),
            [](const TransferFile& a, const TransferFile& b) { return a.path < b.path; });
  return files;
}

Error left_out(const std::string& folder, const std::vector<TransferFile>& not_files) {
  constexpr size_t kShown = 20;
  Error e(err::kStoreUnsupported,
          not_files.size() == 1
              ? fmt::format("1 key below '{}' cannot be a file", folder)
              : fmt::format("{} keys below '{}' cannot be files", not_files.size(), folder));
  for (size_t i = 0; i < std::min(kShown, not_files.size()); ++i) e.at(not_files[i].path);
  if (not_files.size() > kShown) e.at(fmt::format("and {} more", not_files.size() - kShown));
  return std::move(e.todo("give them other names in the bucket, or leave them there"));
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

namespace {

// A file of one folder, and its place in the other.
struct Pair {
  std::string source, target;
  Pair(const std::string& from, const std::string& to, const TransferFile& f)
      : source(f.path.empty() ? from : from + "/" + f.path),
        target(f.path.empty() ? to : to + "/" + f.path) {}
};

Status copy_into(Store& store, const Pair& pair, const OnBytes& on_bytes, TransferResult& result) {
  if (const size_t slash = pair.target.rfind('/'); slash != std::string::npos && slash > 0)
    HONE_TRY(store.make_dirs(pair.target.substr(0, slash)));
  result.bytes += HONE_TRY(copy_file(store, pair.source, pair.target, on_bytes));
  ++result.files;
  return Ok{};
}

}  // namespace

Result<TransferResult> copy_folder(Store& store, const std::string& given_from,
                                   const std::string& given_to, const OnBytes& on_bytes) {
  const std::string from = without_end_slash(given_from), to = without_end_slash(given_to);
  TransferResult result;
  for (const TransferFile& f : HONE_TRY(files_to_copy(store, from, to, result.not_files)))
    HONE_TRY(copy_into(store, Pair(from, to, f), on_bytes, result));
  return result;
}

Result<TransferResult> sync_folder(Store& store, const std::string& given_from,
                                   const std::string& given_to, bool remove,
                                   const OnBytes& on_bytes) {
  const std::string from = without_end_slash(given_from), to = without_end_slash(given_to);
  TransferResult result;
  const std::vector<TransferFile> wanted =
      HONE_TRY(files_to_copy(store, from, to, result.not_files));
  std::map<std::string, int64_t> have;
  if (HONE_TRY(store.exists(to)))
    for (TransferFile& f : HONE_TRY(files_below(store, to))) have[f.path] = f.bytes;
  for (const TransferFile& f : wanted) {
    const Pair pair(from, to, f);
    const auto there = have.find(f.path);
    const bool same = there != have.end() && there->second == f.bytes &&
                      HONE_TRY(are_same(store, pair.source, pair.target));
    if (there != have.end()) have.erase(there);
    if (same) {
      ++result.same;
      continue;
    }
    HONE_TRY(copy_into(store, pair, on_bytes, result));
  }
  if (remove)
    for (const auto& [path, bytes] : have) {
      HONE_TRY(store.remove(to + "/" + path));
      ++result.removed;
    }
  return result;
}

}  // namespace hone
