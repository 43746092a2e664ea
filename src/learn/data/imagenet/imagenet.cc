#include "learn/data/imagenet/imagenet.h"

#include <algorithm>
#include <set>

#include "base/core/json.h"
#include "base/core/text.h"
#include "base/store/hash.h"
#include "base/store/store.h"
#include "learn/data/imagenet/errors.h"
#include "learn/data/imagenet/image_sink.h"
#include "learn/data/imagenet/validation_classes.h"
#include "learn/data/imagenet/windowed_reader.h"
#include "learn/data/images/image_folder.h"
#include "learn/data/images/tar_index.h"
#include "learn/data/rows/count_text.h"

namespace hone {
namespace {

constexpr const char* kRecord = "imagenet.json";
constexpr int64_t kAllClasses = 1000, kAllTrain = 1281167, kAllValidation = 50000;
constexpr int64_t kSmallestClass = 732;  // images of the smallest training class
constexpr int64_t kGroup = 1000;         // validation images that are recorded together
constexpr int64_t kWindow = int64_t{16} << 20, kBatch = int64_t{32} << 20;
constexpr int64_t kMostImage = int64_t{256} << 20;

std::string first_names(const std::vector<std::string>& names) {
  constexpr size_t kShown = 5;
  std::vector<std::string> shown(names.begin(), names.begin() + std::min(names.size(), kShown));
  if (names.size() > kShown) shown.push_back(fmt::format("and {} more", names.size() - kShown));
  return join(shown, ", ");
}

Error missing(const std::string& archive, const std::string& what) {
  return Error(err::kImagesMissing, what)
      .at(archive)
      .todo("get the archive again, or give `expect` false for a part of ImageNet");
}

// Name, size and a hash of the first and last bytes of an archive.
Result<OrderedJson> identity_of(const std::string& path) {
  constexpr int64_t kEnd = 64 << 10;
  const int64_t bytes = HONE_TRY(file_store().bytes(path));
  const int64_t end = std::min(bytes, kEnd);
  const std::string first = HONE_TRY(file_store().read(path, 0, end)),
                    last = HONE_TRY(file_store().read(path, bytes - end, end));
  return OrderedJson{
      {"archive", last_part(path)}, {"bytes", bytes}, {"ends", sha256_of_text(first + last)}};
}

class ImageNetWork {
 public:
  explicit ImageNetWork(const ImageNetRequest& request) : q_(request) {}

  Result<ImageNetPrepared> run() {
    if (!q_.val_tar.empty())
      classes_ = HONE_TRY(q_.val_boxes.empty() ? classes_of_list(q_.val_labels)
                                               : classes_of_boxes(q_.val_boxes));
    HONE_TRY(open_record());
    if (!q_.train_tar.empty()) HONE_TRY(train());
    if (!q_.val_tar.empty() && !done_.stopped) HONE_TRY(validation());
    done_.was_there = !worked_ && !done_.stopped;
    return done_;
  }

 private:
  Status open_record() {
    const std::string file = record_file();
    OrderedJson wanted{{"format", "hone imagenet 1"},
                       {"output_format", q_.shards ? "webdataset" : "folder"}};
    for (const auto& [split, path] :
         {std::pair("train", q_.train_tar), std::pair("validation", q_.val_tar)}) {
      if (path.empty()) continue;
      wanted[split] = HONE_TRY(identity_of(path));
    }
    if (!HONE_TRY(file_store().exists(file))) {
      record_ = wanted;
      return Ok{};
    }
    record_ = HONE_TRY(parse_ordered_json(HONE_TRY(file_store().read(file)), file));
    for (const auto& item : wanted.items()) {
      const std::string& key = item.key();
      const OrderedJson& value = item.value();
      if (!record_.contains(key)) {  // this split was not prepared then
        record_[key] = value;
        continue;
      }
      const auto is_same = [&](const char* member) {
        return value_at(record_[key], member) == value[member];
      };
      const bool same = value.is_object()
                            ? is_same("archive") && is_same("bytes") && is_same("ends")
                            : record_[key] == value;
      if (!same)
        return Error(err::kOtherArchives,
                     fmt::format("'{}' was prepared with another {}", q_.output_dir, key))
            .at(file)
            .todo("name another output folder, or empty this one");
    }
    return Ok{};
  }

  Status write_record() { return file_store().write(record_file(), record_.dump(1) + "\n"); }

  Result<bool> finished_group(const std::string& split, int64_t images) {
    worked_ = true;
    HONE_TRY(write_record());
    if (q_.progress && HONE_TRY(q_.progress(split, images))) done_.stopped = true;
    return done_.stopped;
  }

  std::unique_ptr<ImageSink> sink_of(const std::string& split) const {
    const std::string folder = q_.output_dir + "/" + split;
    return q_.shards ? make_shard_sink(folder) : make_folder_sink(folder, q_.writers);
  }

  // The archives of the classes, in the order of the training archive.
  Result<std::vector<TarEntry>> class_archives(Reader& file) const {
    std::vector<TarEntry> out;
    std::set<std::string> ids;
    for (TarEntry& e : HONE_TRY(list_tar(file, q_.train_tar))) {
      std::string name = last_part(e.name);
      if (!name.ends_with(".tar") || name.starts_with('.')) continue;
      e.name = name.substr(0, name.size() - 4);
      if (!is_wordnet_id(e.name) || !ids.insert(e.name).second)
        return missing(q_.train_tar, fmt::format("'{}' is not the archive of a class, or is in it "
                                                 "twice",
                                                 name));
      out.push_back(std::move(e));
    }
    if (out.empty()) return missing(q_.train_tar, "the archive holds no archive of a class");
    const int64_t count = std::ssize(out);
    if (q_.expects_all && count != kAllClasses)
      return missing(q_.train_tar, fmt::format("the archive holds {} of {} classes", count,
                                               grouped(kAllClasses)));
    return out;
  }

  Status train() {
    const std::unique_ptr<Reader> file = HONE_TRY(file_store().open(q_.train_tar));
    const std::vector<TarEntry> archives = HONE_TRY(class_archives(*file));
    const std::unique_ptr<ImageSink> sink = sink_of("train");
    OrderedJson& counts = record_["train"]["classes"];
    if (!counts.is_object()) counts = OrderedJson::object();
    if (std::ssize(counts) < std::ssize(archives)) HONE_TRY(sink->clean());
    int64_t images = 0;
    for (const TarEntry& e : archives) {
      if (!counts.contains(e.name)) {
        WindowedReader part(*file, e.offset, e.bytes, kWindow);
        counts[e.name] = HONE_TRY(one_class(part, e.name, *sink));
        images += counts[e.name].get<int64_t>();
        if (HONE_TRY(finished_group("train", images))) break;
        continue;
      }
      images += counts[e.name].get<int64_t>();
    }
    done_.train_images = images, done_.classes = std::ssize(counts);
    if (done_.stopped || !q_.expects_all || images == kAllTrain) return Ok{};
    std::vector<std::string> small;
    for (const auto& [id, count] : counts.items())
      if (count.get<int64_t>() < kSmallestClass)
        small.push_back(fmt::format("{} has {}", id, count.get<int64_t>()));
    return missing(q_.train_tar,
                   fmt::format("{} of {} training images were found{}", grouped(images),
                               grouped(kAllTrain), small.empty() ? "" : ": " + first_names(small)));
  }

  // Returns the number of images.
  Result<int64_t> one_class(Reader& archive, const std::string& id, ImageSink& sink) {
    TarWalk walk(archive, fmt::format("{}/{}.tar", q_.train_tar, id));
    std::set<std::string> names;
    HONE_TRY(sink.begin_group(id));
    std::vector<NamedImage> batch;
    int64_t bytes = 0;
    while (const std::optional<TarEntry> e = HONE_TRY(walk.next())) {
      const std::string name = last_part(e->name);
      if (!is_usable(name)) continue;
      if (!names.insert(name.substr(0, name.find('.'))).second)
        return walk.bad(fmt::format("'{}' is in it twice", name));
      std::string image = HONE_TRY(content(archive, walk, *e));
      batch.push_back({name, id, std::move(image)});
      bytes += e->bytes;
      if (bytes >= kBatch) HONE_TRY(flush(sink, batch, bytes));
    }
    HONE_TRY(flush(sink, batch, bytes));
    HONE_TRY(sink.end_group());
    return std::ssize(names);
  }

  Status validation() {
    const std::unique_ptr<Reader> whole = HONE_TRY(file_store().open(q_.val_tar));
    WindowedReader file(*whole, 0, whole->bytes(), kWindow);
    const std::unique_ptr<ImageSink> sink = sink_of("validation");
    OrderedJson& record = record_["validation"];
    int64_t images = record.value("images", int64_t{0});
    TarWalk walk(file, q_.val_tar, record.value("read_bytes", int64_t{0}));
    if (!record.value("complete", false)) HONE_TRY(sink->clean());
    for (bool ended = record.value("complete", false); !ended && !done_.stopped;) {
      const int64_t in_group = HONE_TRY(one_group(file, walk, images, *sink));
      images += in_group;
      ended = in_group < kGroup;
      record["images"] = images, record["read_bytes"] = walk.at(), record["complete"] = ended;
      HONE_TRY(finished_group("validation", images));
    }
    done_.validation_images = images;
    if (done_.stopped) return Ok{};
    if (q_.expects_all && images != kAllValidation) return say_missing(file, images);
    return Ok{};
  }

  // Up to kGroup images from here on; returns their number.
  Result<int64_t> one_group(Reader& file, TarWalk& walk, int64_t before, ImageSink& sink) {
    std::vector<NamedImage> batch;
    int64_t bytes = 0, images = 0;
    while (images < kGroup) {
      const std::optional<TarEntry> e = HONE_TRY(walk.next());
      if (!e) break;
      const std::string name = last_part(e->name), stem = name.substr(0, name.find('.'));
      if (!is_usable(name)) continue;
      const auto found = classes_.find(stem);
      if (found == classes_.end())
        return Error(err::kValidationClasses, fmt::format("the image '{}' has no class", name))
            .at(q_.val_boxes.empty() ? q_.val_labels : q_.val_boxes)
            .todo("give the file of `val_boxes` or `val_labels` for the images of `val_tar`");
      if (images++ == 0) HONE_TRY(sink.begin_group(fmt::format("{:04}", before / kGroup)));
      std::string image = HONE_TRY(content(file, walk, *e));
      batch.push_back({name, found->second, std::move(image)});
      bytes += e->bytes;
      if (bytes >= kBatch) HONE_TRY(flush(sink, batch, bytes));
    }
    if (images == 0) return images;
    HONE_TRY(flush(sink, batch, bytes));
    HONE_TRY(sink.end_group());
    return images;
  }

  // Names the images that the archive lacks.
  Error say_missing(Reader& file, int64_t images) const {
    const auto entries = list_tar(file, q_.val_tar);
    if (!entries.ok()) return entries.error();
    std::set<std::string> there;
    for (const TarEntry& e : *entries)
      there.insert(last_part(e.name).substr(0, last_part(e.name).find('.')));
    std::vector<std::string> absent;
    for (const auto& [name, id] : classes_)
      if (!there.contains(name)) absent.push_back(name);
    return missing(q_.val_tar,
                   fmt::format("{} of {} validation images were found{}", grouped(images),
                               grouped(kAllValidation),
                               absent.empty() ? "" : "; missing: " + first_names(absent)));
  }

  static bool is_usable(const std::string& name) {
    constexpr size_t kLongest = 90;  // in a header of a shard
    return !name.starts_with('.') && name.size() <= kLongest && is_image_name(name);
  }
  static Result<std::string> content(Reader& file, const TarWalk& walk, const TarEntry& e) {
    if (e.bytes > kMostImage) return walk.bad(fmt::format("'{}' has more than 256 MiB", e.name));
    std::string out(static_cast<size_t>(e.bytes), '\0');
    HONE_TRY(file.read(e.offset, std::as_writable_bytes(std::span(out))));
    return out;
  }
  static Status flush(ImageSink& sink, std::vector<NamedImage>& batch, int64_t& bytes) {
    HONE_TRY(sink.add(batch));
    batch.clear();
    bytes = 0;
    return Ok{};
  }
  std::string record_file() const { return q_.output_dir + "/" + kRecord; }

  const ImageNetRequest& q_;
  ValidationClasses classes_;
  OrderedJson record_;
  ImageNetPrepared done_;
  bool worked_ = false;
};

}  // namespace

Result<ImageNetPrepared> prepare_imagenet(const ImageNetRequest& request) {
  return ImageNetWork(request).run();
}

}  // namespace hone
