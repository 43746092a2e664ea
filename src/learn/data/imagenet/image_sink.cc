#include "learn/data/imagenet/image_sink.h"

#include <set>

#include "base/core/text.h"
#include "base/store/places/in_parallel.h"

namespace hone {
namespace {

class FolderSink : public ImageSink {
 public:
  FolderSink(std::string folder, int writers) : folder_(std::move(folder)), writers_(writers) {}
  Status clean() override {
    if (!HONE_TRY(file_store().info(folder_)).folder) return Ok{};
    for (const Store::Entry& e : HONE_TRY(file_store().list(folder_)))
      if (e.folder) HONE_TRY(file_store().remove_unfinished(folder_ + "/" + e.name));
    return Ok{};
  }
  Status begin_group(const std::string&) override { return Ok{}; }
  Status end_group() override { return Ok{}; }
  Status add(const std::vector<NamedImage>& images) override {
    for (const NamedImage& x : images)
      if (made_.insert(x.wordnet_id).second)
        HONE_TRY(file_store().make_dirs(folder_ + "/" + x.wordnet_id));
    return in_parallel(std::ssize(images), writers_, [&](int64_t i) {
      const NamedImage& x = images[static_cast<size_t>(i)];
      return file_store().write(fmt::format("{}/{}/{}", folder_, x.wordnet_id, x.name), x.bytes);
    });
  }

 private:
  std::string folder_;
  int writers_;
  std::set<std::string> made_;
};

constexpr size_t kTarBlock = 512;

// The header of a regular file, in the ustar form of POSIX.1; without times and owners, so that bytes repeat.
std::string tar_header(const std::string& name, size_t bytes) {
  HONE_BUG_IF(name.size() > 100, "'{}' is too long for a header", name);
  std::string h(kTarBlock, '\0');
  const auto put = [&](size_t at, std::string_view text) { h.replace(at, text.size(), text); };
  put(0, name);
  put(100, "0000644");
  put(108, "0000000");
  put(116, "0000000");
  put(124, fmt::format("{:011o}", bytes));
  put(136, "00000000000");
  put(148, "        ");
  put(156, "0");
  put(257, std::string_view("ustar\00000", 8));
  unsigned sum = 0;
  for (const char c : h) sum += static_cast<unsigned char>(c);
  put(148, fmt::format("{:06o}", sum));
  h[154] = '\0';
  return h;
}

class ShardSink : public ImageSink {
 public:
  explicit ShardSink(std::string folder) : folder_(std::move(folder)) {}
  Status clean() override {
    if (!HONE_TRY(file_store().info(folder_)).folder) return Ok{};
    return file_store().remove_unfinished(folder_);
  }
  Status begin_group(const std::string& name) override {
    if (!made_) HONE_TRY(file_store().make_dirs(folder_));
    made_ = true;
    writer_ = HONE_TRY(file_store().create(fmt::format("{}/{}.tar", folder_, name)));
    return Ok{};
  }
  Status add(const std::vector<NamedImage>& images) override {
    for (const NamedImage& x : images) {
      HONE_TRY(member(x.name, x.bytes));
      const std::string stem = x.name.substr(0, x.name.find('.'));
      HONE_TRY(member(stem + ".json", fmt::format("{{\"label\": \"{}\"}}", x.wordnet_id)));
    }
    return Ok{};
  }
  Status end_group() override {
    HONE_TRY(writer_->write(std::string(2 * kTarBlock, '\0')));
    HONE_TRY(writer_->commit());
    writer_.reset();
    return Ok{};
  }

 private:
  Status member(const std::string& name, const std::string& bytes) {
    HONE_TRY(writer_->write(tar_header(name, bytes.size())));
    HONE_TRY(writer_->write(bytes));
    const size_t rest = bytes.size() % kTarBlock;
    return rest == 0 ? Status(Ok{}) : writer_->write(std::string(kTarBlock - rest, '\0'));
  }

  std::string folder_;
  bool made_ = false;
  std::unique_ptr<Writer> writer_;
};

}  // namespace

std::unique_ptr<ImageSink> make_folder_sink(std::string split_folder, int writers) {
  return std::make_unique<FolderSink>(std::move(split_folder), writers);
}
std::unique_ptr<ImageSink> make_shard_sink(std::string split_folder) {
  return std::make_unique<ShardSink>(std::move(split_folder));
}

}  // namespace hone
