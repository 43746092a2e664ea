#include "base/store/places/object_store.h"

#include "base/store/errors.h"
#include "base/store/places/in_parallel.h"
#include "base/store/places/object_reader.h"
#include "base/store/places/object_writer.h"

namespace hone {
namespace {

constexpr int kDeletes = 8;  // at a time

struct Place {
  Bucket* bucket;
  std::string key, name;
  std::string folder() const { return key.empty() ? "" : key + "/"; }
};

Result<Place> place_of(const std::string& url) {
  std::optional<ObjectUrl> u = HONE_TRY(parse_object_url(url));
  HONE_BUG_IF(!u, "'{}' is not a URL of an object store", url);
  const std::string name = u->bucket + (u->key.empty() ? "" : "/") + u->key;
  return Place{HONE_TRY(open_bucket(*u)), u->key, name};
}

Error missing(const std::string& name) {
  return Error(err::kStoreMissing, fmt::format("{} does not exist", name))
      .todo("check the name; 'hone store ls' lists the names");
}

Error no_file(const std::string& name) {
  return Error(err::kStoreUnsupported, fmt::format("'{}' is a bucket, not a file in it", name))
      .todo("add the name of a file");
}

// All that was written, kept in memory, as one object that is replaced.
class AppendWriter : public Writer {
 public:
  AppendWriter(Bucket& bucket, std::string key, std::string text, Condition condition)
      : bucket_(bucket),
        key_(std::move(key)),
        text_(std::move(text)),
        condition_(std::move(condition)) {}
  Status write(std::span<const std::byte> bytes) override {
    text_.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    changed_ = true;
    return Ok{};
  }
  Status sync() override {
    if (!changed_) return Ok{};
    ObjectWriter w(bucket_, key_, condition_);
    HONE_TRY(w.write(std::as_bytes(std::span(text_))));
    HONE_TRY(w.commit());
    condition_ = {.version = w.written().version};
    changed_ = false;
    return Ok{};
  }
  Status commit() override { return sync(); }

 private:
  Bucket& bucket_;
  std::string key_, text_;
  Condition condition_;
  bool changed_ = false;
};

}  // namespace

Result<std::vector<ObjectInfo>> all_objects(Bucket& bucket, const std::string& prefix,
                                            std::vector<ObjectInfo>* unsafe) {
  std::vector<ObjectInfo> all;
  std::string page;
  do {
    ObjectPage p = HONE_TRY(bucket.list(prefix, false, page));
    all.insert(all.end(), std::make_move_iterator(p.objects.begin()),
               std::make_move_iterator(p.objects.end()));
    if (unsafe) unsafe->insert(unsafe->end(), p.unsafe.begin(), p.unsafe.end());
    page = p.next;
  } while (!page.empty());
  return all;
}

Result<Store::Info> ObjectStore::info(const std::string& url) {
  const Place p = HONE_TRY(place_of(url));
  if (!p.key.empty())
    if (const auto object = HONE_TRY(p.bucket->stat(p.key)))
      return Info{true, false, object->bytes};
  Result<ObjectPage> page = p.bucket->list(p.folder(), true, "", 1);
  if (!page.ok() && page.error().is(err::kStoreMissing)) return Info{};
  const ObjectPage first = HONE_TRY(std::move(page));
  if (p.key.empty() || !first.objects.empty() || !first.folders.empty() || !first.unsafe.empty())
    return Info{true, true, 0};
  return Info{};
}

Result<std::unique_ptr<Reader>> ObjectStore::open(const std::string& url) {
  const Place p = HONE_TRY(place_of(url));
  if (p.key.empty()) return no_file(p.name);
  std::optional<ObjectInfo> object = HONE_TRY(p.bucket->stat(p.key));
  if (!object) return missing(p.name);
  return std::unique_ptr<Reader>(new ObjectReader(*p.bucket, std::move(*object), p.name));
}

Result<std::vector<Store::Entry>> ObjectStore::list(const std::string& url) {
  const Place p = HONE_TRY(place_of(url));
  const std::string folder = p.folder();
  std::vector<Entry> entries;
  std::string page;
  do {
    const ObjectPage part = HONE_TRY(p.bucket->list(folder, true, page));
    for (const ObjectInfo& o : part.objects)
      if (o.key.size() > folder.size() && !o.key.ends_with('/'))
        entries.push_back({o.key.substr(folder.size()), false, o.bytes});
    for (const std::string& f : part.folders)
      if (f.size() > folder.size() + 1)
        entries.push_back({f.substr(folder.size(), f.size() - folder.size() - 1), true, 0});
    page = part.next;
  } while (!page.empty());
  if (entries.empty() && !p.key.empty()) return missing(p.name);
  std::sort(entries.begin(), entries.end(),
            [](const Entry& a, const Entry& b) { return a.name < b.name; });
  return entries;
}

Result<std::unique_ptr<Writer>> ObjectStore::create(const std::string& url) {
  const Place p = HONE_TRY(place_of(url));
  if (p.key.empty()) return no_file(p.name);
  return std::unique_ptr<Writer>(new ObjectWriter(*p.bucket, p.key, {}));
}

Result<std::unique_ptr<Writer>> ObjectStore::create_new(const std::string& url) {
  const Place p = HONE_TRY(place_of(url));
  if (p.key.empty()) return no_file(p.name);
  return std::unique_ptr<Writer>(new ObjectWriter(*p.bucket, p.key, {.absent = true}));
}

Result<std::unique_ptr<Writer>> ObjectStore::append(const std::string& url) {
  const Place p = HONE_TRY(place_of(url));
  if (p.key.empty()) return no_file(p.name);
  std::optional<ObjectInfo> object = HONE_TRY(p.bucket->stat(p.key));
  std::string text;
  Condition condition{.absent = !object};
  if (object) {
    condition.version = object->version;
    text.resize(static_cast<size_t>(object->bytes));
    HONE_TRY(ObjectReader(*p.bucket, std::move(*object), p.name)
                 .read(0, std::as_writable_bytes(std::span(text))));
  }
  return std::unique_ptr<Writer>(new AppendWriter(*p.bucket, p.key, std::move(text), condition));
}

Status ObjectStore::rename(const std::string& from, const std::string& to) {
  const Place a = HONE_TRY(place_of(from)), b = HONE_TRY(place_of(to));
  if (a.bucket != b.bucket || a.key.empty() || b.key.empty())
    return Error(err::kStoreUnsupported,
                 fmt::format("'{}' cannot be renamed to '{}'", a.name, b.name))
        .todo("copy it with 'hone store cp'");
  if (HONE_TRY(a.bucket->stat(a.key))) {
    HONE_TRY(a.bucket->copy(a.key, b.key));
    return a.bucket->remove(a.key);
  }
  const std::vector<ObjectInfo> all = HONE_TRY(all_objects(*a.bucket, a.folder()));
  if (all.empty()) return missing(a.name);
  for (const ObjectInfo& o : all)
    HONE_TRY(a.bucket->copy(o.key, b.folder() + o.key.substr(a.folder().size())));
  return remove_all(from);
}

Status ObjectStore::copy(const std::string& from, const std::string& to) {
  const Place a = HONE_TRY(place_of(from)), b = HONE_TRY(place_of(to));
  return a.bucket == b.bucket ? a.bucket->copy(a.key, b.key) : Store::copy(from, to);
}

Status ObjectStore::remove(const std::string& url) {
  const Place p = HONE_TRY(place_of(url));
  if (p.key.empty()) return no_file(p.name);
  if (!HONE_TRY(p.bucket->stat(p.key)) && HONE_TRY(info(url)).folder)
    return Error(err::kStoreFailed,
                 fmt::format("cannot remove '{}': the folder is not empty", p.name));
  return p.bucket->remove(p.key);
}

Status ObjectStore::remove_all(const std::string& url) {
  const Place p = HONE_TRY(place_of(url));
  if (p.key.empty()) return no_file(p.name);  // a whole bucket is not emptied by one mistake
  if (HONE_TRY(p.bucket->stat(p.key))) HONE_TRY(p.bucket->remove(p.key));
  const std::vector<ObjectInfo> all = HONE_TRY(all_objects(*p.bucket, p.folder()));
  return in_parallel(static_cast<int64_t>(all.size()), kDeletes, [&](int64_t i) -> Status {
    const ObjectInfo& o = all[static_cast<size_t>(i)];
    Status s = p.bucket->remove(o.key, o.version);
    if (!s.ok() && s.error().is(err::kStoreMissing)) return Ok{};
    return s;
  });
}

}  // namespace hone
