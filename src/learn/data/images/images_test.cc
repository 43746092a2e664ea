// Folders and tables of images, and the threads that load them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <filesystem>
#include <fstream>

#include "base/store/store.h"
#include "learn/data/images/errors.h"
#include "learn/data/images/image_folder.h"
#include "learn/data/images/image_loader.h"
#include "learn/data/images/image_table.h"
#include "learn/data/images/tar_index.h"
#include "learn/data/images/web_dataset.h"

namespace hone {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;

class Images : public testing::Test {
 protected:
  void SetUp() override {
    root_ = fs::path(testing::TempDir()) / fmt::format("images_{}", ::getpid());
    fs::remove_all(root_);
  }
  void TearDown() override { fs::remove_all(root_); }
  void file(const std::string& name, const std::string& bytes = "x") {
    fs::create_directories((root_ / name).parent_path());
    std::ofstream(root_ / name, std::ios::binary) << bytes;
  }
  std::string path(const std::string& name) const { return (root_ / name).string(); }
  fs::path root_;
};

std::vector<int32_t> labels_of(const ImageRows& rows) {
  std::vector<int32_t> labels;
  for (int64_t i = 0; i < rows.size(); ++i) labels.push_back(rows.label(i));
  return labels;
}

TEST_F(Images, ClassesAreTheSortedFolders) {
  for (const char* name : {"train/b/2.JPEG", "train/b/10.png", "train/a/z.jpg", "train/c/q.WebP",
                           "train/b/notes.txt", "train/.hidden/1.jpg", "train/readme.md"})
    file(name);
  const auto got = list_classes(path("train/"));
  ASSERT_TRUE(got.ok()) << got.error().text();
  EXPECT_THAT(got->names, ElementsAre("a", "b", "c"));
  EXPECT_THAT(labels_of(got->rows), ElementsAre(0, 1, 1, 2));
  EXPECT_EQ(got->rows.name(1), path("train/b/10.png"));
  // Names of another split give its ids; some may be missing.
  file("val/c/1.jpg");
  const auto val = list_classes(path("val"), got->names);
  ASSERT_TRUE(val.ok());
  EXPECT_THAT(labels_of(val->rows), ElementsAre(2));
}

TEST_F(Images, ListingsAreReadInPlaceOfFolders) {
  file("train/a/1.jpg"), file("train/b/2.png", "two"), file("train/b/notes.txt");
  const auto rows_with = [&] {
    ImageListing listing = ImageListing::open(path("listing.jsonl")).value();
    LabelledImages got = list_classes(path("train"), {}, &listing).value();
    EXPECT_TRUE(listing.save().ok());
    return std::pair(listing.kept(), std::move(got));
  };
  const auto [none, first] = rows_with();
  EXPECT_EQ(none, 0);
  file("train/b/3.jpg"), file("train/c/4.jpg");
  const auto [kept, second] = rows_with();
  EXPECT_EQ(kept, 3);
  EXPECT_THAT(second.names, ElementsAre("a", "b"));
  EXPECT_EQ(second.rows.hash(), first.rows.hash());
  for (const char* text : {"", "{}", "{\"format\": \"hone listing 2\"}\n{}", "[1]",
                           "{\"format\": \"hone listing 1\"}\n{\"folder\": \"x\"}",
                           "{\"format\": \"hone listing 1\"}\n{\"folder\": \"x\", \"folders\": [], "
                           "\"files\": [[\"a.jpg\"]]}"}) {
    file("listing.jsonl", text);
    const auto bad = ImageListing::open(path("listing.jsonl"));
    ASSERT_FALSE(bad.ok()) << text;
    EXPECT_TRUE(bad.error().is(err::kImageFolder)) << text;
  }
}

TEST_F(Images, ListingsLeaveOutNamesThatAreNotUtf8) {
  file("train/a/1.jpg"), file("train/b/\xff.jpg");
  for (const int64_t kept : {0, 2}) {
    ImageListing listing = ImageListing::open(path("listing.jsonl")).value();
    EXPECT_EQ(listing.kept(), kept);
    EXPECT_EQ(list_classes(path("train"), {}, &listing).value().rows.size(), 2);
    EXPECT_TRUE(listing.save().ok());
  }
}

TEST_F(Images, ForgivesNoFolderThatIsAmbiguous) {
  file("train/a/1.jpg");
  const auto none = list_classes(path("train/a"));
  ASSERT_FALSE(none.ok());
  EXPECT_TRUE(none.error().is(err::kImageFolder));
  file("train/a/more/2.jpg");
  EXPECT_THAT(list_classes(path("train")).error().what(), HasSubstr("holds a folder, 'more'"));
  file("other/b/text.txt");
  EXPECT_THAT(list_classes(path("other")).error().what(), HasSubstr("holds no image"));
  file("val/d/1.jpg");
  EXPECT_THAT(list_classes(path("val"), {"a"}).error().what(), HasSubstr("class 'd'"));
}

TEST_F(Images, SplitsHaveSeveralNames) {
  file("x/train/a/1.jpg");
  file("x/validate/a/1.jpg");
  EXPECT_EQ(*split_folder(path("x"), "train"), path("x/train"));
  EXPECT_EQ(*split_folder(path("x/"), "validation"), path("x/validate"));
  EXPECT_EQ(*split_folder(path("x"), "test"), "");
}

TEST_F(Images, ImagesToPredictNeedNoClasses) {
  file("p/b.jpg");
  file("p/a.png");
  file("p/more/c.jpg");
  const auto got = list_images(path("p"));
  ASSERT_TRUE(got.ok());
  EXPECT_EQ(got->size(), 3);
  EXPECT_EQ(got->name(0), path("p/a.png"));
  EXPECT_EQ(got->name(2), path("p/more/c.jpg"));
  EXPECT_EQ(got->label(0), ImageRows::kNoLabel);
}

TEST_F(Images, TablesOfPaths) {
  file("t/pictures/1.jpg", "bytes of 1");
  file("t/rows.jsonl", R"({"image": "pictures/1.jpg", "label": "dog"})"
                       "\n"
                       R"({"image": "/elsewhere/2.jpg", "label": "cat"})"
                       "\n");
  const auto got = read_image_table({path("t/rows.jsonl")}, {});
  ASSERT_TRUE(got.ok()) << got.error().text();
  EXPECT_THAT(got->names, ElementsAre("cat", "dog"));
  EXPECT_THAT(labels_of(got->rows), ElementsAre(1, 0));
  std::string memory;
  EXPECT_EQ(*got->rows.bytes(0, memory), "bytes of 1");
  EXPECT_EQ(got->rows.name(1), "/elsewhere/2.jpg");
  const auto wrong = read_image_table({path("t/rows.jsonl")}, {.image = "picture"});
  ASSERT_FALSE(wrong.ok());
  EXPECT_TRUE(wrong.error().is(err::kImageColumn));
}

// A member of a ustar archive.
std::string tar_member(const std::string& name, const std::string& bytes, char type = '0') {
  std::string header(512, '\0');
  header.replace(0, name.size(), name);
  header.replace(100, 7, "0000644");
  header.replace(124, 11, fmt::format("{:011o}", bytes.size()));
  header[156] = type;
  header.replace(257, 8, std::string("ustar\00000", 8));
  header.replace(148, 8, "        ");
  unsigned sum = 0;
  for (const char c : header) sum += static_cast<unsigned char>(c);
  header.replace(148, 7, fmt::format("{:06o}", sum) + '\0');
  std::string padded = bytes;
  padded.resize((bytes.size() + 511) / 512 * 512);
  return header + padded;
}

TEST_F(Images, WebDatasetsAreReadByRanges) {
  const std::string long_name = "deep/" + std::string(120, 'n') + ".jpg";
  file("w/0.tar", tar_member("a/", "", '5') + tar_member("a/000.cls", "1\n") +
                      tar_member("a/000.jpg", "first") +
                      tar_member("a/001.JPEG", std::string(700, 'x')) +
                      tar_member("a/001.json", R"({"label": 0})") + std::string(1024, '\0'));
  const std::string pax = fmt::format("{} path={}\n", 3 + 6 + long_name.size() + 1, long_name);
  file("w/1.tar", tar_member("pax", pax, 'x') + tar_member("short", "last") +
                      tar_member("deep/" + std::string(90, 'm'), "") + tar_member("z.png", "p") +
                      tar_member("z.cls", "0"));
  const auto got = read_web_dataset({path("w/0.tar")}, true);
  ASSERT_TRUE(got.ok()) << got.error().text();
  EXPECT_THAT(got->names, ElementsAre("0", "1"));
  EXPECT_THAT(labels_of(got->rows), ElementsAre(1, 0));
  std::string memory;
  EXPECT_EQ(*got->rows.bytes(0, memory), "first");
  EXPECT_EQ(*got->rows.bytes(1, memory), std::string(700, 'x'));
  EXPECT_EQ(got->rows.name(0), path("w/0.tar") + "/a/000.jpg");
  const auto pax_names = list_tar(*file_store().open(path("w/1.tar")).value(), "1.tar");
  ASSERT_TRUE(pax_names.ok()) << pax_names.error().text();
  EXPECT_EQ(pax_names->front().name, long_name);
  EXPECT_EQ(pax_names->size(), 4);
  // A file of the archive without an image, and broken archives.
  EXPECT_TRUE(read_web_dataset({path("w/1.tar")}, true).error().is(err::kImageColumn));
  file("w/cut.tar", tar_member("a.jpg", std::string(2000, 'x')).substr(0, 1500));
  EXPECT_THAT(read_web_dataset({path("w/cut.tar")}, true).error().what(),
              HasSubstr("ends after the archive"));
  std::string wrong = tar_member("a.jpg", "x");
  wrong[3] = 'y';
  file("w/wrong.tar", wrong);
  const auto refused = read_web_dataset({path("w/wrong.tar")}, true);
  EXPECT_TRUE(refused.error().is(err::kTar));
  EXPECT_THAT(refused.error().what(), HasSubstr("checksum"));
}

TEST_F(Images, TheHashKnowsNamesAndLabels) {
  ImageRows a, b;
  a.add_file(a.add_folder("x/cats"), "1.jpg", 10, 0);
  b.add_file(b.add_folder("/far/away/cats"), "1.jpg", 10, 0);
  EXPECT_EQ(a.hash(), b.hash());
  EXPECT_FALSE(b.is_remote());
  b.set_labels([](int64_t) { return 1; });
  EXPECT_NE(a.hash(), b.hash());
}

// Any number of threads gives the same images, also if batches follow each other without being taken.
TEST(ImageLoaderTest, ThreadsMakeEachRowOnce) {
  for (const int threads : {0, 1, 4}) {
    std::atomic<int> made{0};
    ImageBatch batch, skipped, nothing;  // outlive the loader
    ImageLoader loader(threads, [&](int64_t row, int64_t epoch, LoadedImage& to, LoadMemory&) {
      ++made;
      to.pixels.resize(1, 1);
      to.pixels.pixels[0] = static_cast<uint8_t>(row * 3 + epoch);
      if (row == 7) to.error.emplace(Error(err::kImageFolder, "seven"));
    });
    for (int64_t epoch = 0; epoch < 3; ++epoch) {
      loader.start(skipped, epoch, std::vector<int64_t>{1, 2, 3, 4});
      loader.start(nothing, epoch, {});
      loader.start(batch, epoch, std::vector<int64_t>{9, 7, 5, 9});
      EXPECT_EQ(batch.size(), 3);
      EXPECT_EQ(loader.take(batch, 9).pixels.pixels[0], 27 + epoch);
      EXPECT_EQ(loader.take(batch, 5).pixels.pixels[0], 15 + epoch);
      EXPECT_TRUE(loader.take(batch, 7).error);
      EXPECT_FALSE(loader.take(batch, 9).error);
    }
    EXPECT_GE(made, 9);
  }
}

TEST(ImageLoaderTest, ABugOfAThreadIsThrownByTake) {
  ImageBatch batch;
  ImageLoader loader(
      2, [](int64_t row, int64_t, LoadedImage&, LoadMemory&) { HONE_BUG_IF(row == 3, "three"); });
  loader.start(batch, 0, std::vector<int64_t>{1, 2, 3});
  EXPECT_THROW(
      {
        for (const int64_t row : {1, 2, 3}) loader.take(batch, row);
        loader.take(batch, 3);
      },
      Bug);
}

}  // namespace
}  // namespace hone
