// A miniature of ILSVRC2012: three classes, five validation images.
#include "learn/data/imagenet/imagenet.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "base/core/json.h"
#include "base/store/store.h"
#include "learn/data/imagenet/errors.h"
#include "learn/data/imagenet/image_sink.h"
#include "learn/data/imagenet/validation_classes.h"
#include "learn/data/images/errors.h"
#include "learn/data/images/image_folder.h"
#include "learn/data/images/web_dataset.h"

namespace hone {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;

class ImageNet : public testing::Test {
 protected:
  void SetUp() override {
    root_ = fs::path(testing::TempDir()) / fmt::format("imagenet_{}", ::getpid());
    fs::remove_all(root_);
    fs::create_directories(root_ / "out");
    std::vector<std::pair<std::string, std::string>> classes;
    int pixel = 0;
    for (const char* id : {"n01440764", "n01443537", "n01484850"}) {
      std::vector<std::pair<std::string, std::string>> images;
      for (int i = 0; i < 3; ++i)
        images.emplace_back(fmt::format("{}_{}.JPEG", id, i),
                            std::string(700, static_cast<char>('a' + pixel++)));
      classes.emplace_back(fmt::format("{}.tar", id), tar(images));
    }
    file("train.tar", tar(classes));
    file("val.tar", tar(validation(5)));
    std::vector<std::pair<std::string, std::string>> boxes;
    for (int i = 1; i <= 5; ++i)
      boxes.emplace_back(fmt::format("val/ILSVRC2012_val_{:08}.xml", i),
                         annotation(ids()[static_cast<size_t>(i % 3)]));
    file("boxes.tar", tar(boxes));
  }
  void TearDown() override { fs::remove_all(root_); }

  static std::vector<std::string> ids() { return {"n01440764", "n01443537", "n01484850"}; }
  static std::vector<std::pair<std::string, std::string>> validation(int count) {
    std::vector<std::pair<std::string, std::string>> out;
    for (int i = 1; i <= count; ++i)
      out.emplace_back(fmt::format("ILSVRC2012_val_{:08}.JPEG", i), fmt::format("image {}", i));
    return out;
  }
  static std::string annotation(const std::string& id) {
    return fmt::format(
        "<annotation><filename>x</filename><object><name>{0}</name></object>"
        "<object><name>{0}</name></object></annotation>",
        id);
  }
  // An archive of files, by the system's tar.
  std::string tar(const std::vector<std::pair<std::string, std::string>>& files) {
    const fs::path folder = root_ / "tar";
    fs::create_directories(folder / "val");
    std::ofstream names(root_ / "names");
    for (const auto& [name, bytes] : files) {
      std::ofstream(folder / name, std::ios::binary) << bytes;
      names << name << "\n";
    }
    names.close();
    const std::string to = (root_ / "made.tar").string();
    EXPECT_EQ(std::system(fmt::format("tar cf {} -C {} -T {}", to, folder.string(),
                                      (root_ / "names").string())
                              .c_str()),
              0);
    return *file_store().read(to);
  }
  void file(const std::string& name, const std::string& bytes) {
    std::ofstream(root_ / name, std::ios::binary) << bytes;
  }
  std::string path(const std::string& name) const { return (root_ / name).string(); }
  ImageNetRequest request(const std::string& out = "out") const {
    return {.train_tar = path("train.tar"),
            .val_tar = path("val.tar"),
            .val_boxes = path("boxes.tar"),
            .val_labels = "",
            .output_dir = path(out),
            .expects_all = false,
            .progress = nullptr};
  }
  fs::path root_;
};

TEST_F(ImageNet, FolderOfEachClass) {
  const auto done = prepare_imagenet(request());
  ASSERT_TRUE(done.ok()) << done.error().text();
  EXPECT_EQ(done->train_images, 9);
  EXPECT_EQ(done->classes, 3);
  EXPECT_EQ(done->validation_images, 5);
  const auto train = list_classes(path("out/train"));
  ASSERT_TRUE(train.ok()) << train.error().text();
  EXPECT_THAT(train->names, ElementsAre("n01440764", "n01443537", "n01484850"));
  EXPECT_EQ(*file_store().read(path("out/train/n01443537/n01443537_1.JPEG")),
            std::string(700, 'e'));
  EXPECT_EQ(*file_store().read(path("out/validation/n01440764/ILSVRC2012_val_00000003.JPEG")),
            "image 3");
  EXPECT_EQ(list_classes(path("out/validation"))->rows.size(), 5);
  const auto again = prepare_imagenet(request());
  ASSERT_TRUE(again.ok());
  EXPECT_TRUE(again->was_there);
  EXPECT_EQ(again->train_images, 9);
}

// The devkit of tools/golden_devkit.py, whose meta.mat scipy wrote.
TEST_F(ImageNet, ClassesOfTheDevkit) {
  for (const char* name : {"devkit.tar.gz", "devkit_packed.tar.gz"}) {
    const std::string devkit = std::string(HONE_SOURCE_DIR) + "/tests/goldens/imagenet/" + name;
    const auto classes = classes_of_list(devkit);
    ASSERT_TRUE(classes.ok()) << classes.error().text();
    EXPECT_EQ(classes->size(), 5);
    EXPECT_EQ(classes->at("ILSVRC2012_val_00000001"), "n01484850");
    EXPECT_EQ(classes->at("ILSVRC2012_val_00000002"), "n01440764");
    EXPECT_EQ(classes->at("ILSVRC2012_val_00000005"), "n01443537");
  }
  const std::string whole(1000, 'x');
  for (const std::string& bytes : {std::string(), whole, std::string(126, ' ') + "IM" + whole}) {
    const auto bad = classes_of_meta(bytes, "meta.mat");
    ASSERT_FALSE(bad.ok());
    EXPECT_TRUE(bad.error().is(err::kValidationClasses));
  }
  file("no.tar", tar({{"meta.mat", "x"}}));
  EXPECT_THAT(classes_of_list(path("no.tar")).error().text(), HasSubstr("has no meta.mat or no"));
}

TEST_F(ImageNet, Shards) {
  ImageNetRequest q = request();
  q.shards = true;
  ASSERT_TRUE(prepare_imagenet(q).ok());
  const auto rows =
      read_web_dataset({path("out/train/n01440764.tar"), path("out/train/n01484850.tar")}, true);
  ASSERT_TRUE(rows.ok()) << rows.error().text();
  EXPECT_THAT(rows->names, ElementsAre("n01440764", "n01484850"));
  std::string memory;
  EXPECT_EQ(*rows->rows.bytes(4, memory), std::string(700, 'h'));
  EXPECT_EQ(rows->rows.label(4), 1);
  EXPECT_EQ(read_web_dataset({path("out/validation/0000.tar")}, true)->rows.size(), 5);
  // The system's tar reads them.
  EXPECT_EQ(
      std::system(
          fmt::format("tar xf {} -C {}", path("out/train/n01443537.tar"), root_.string()).c_str()),
      0);
  EXPECT_EQ(*file_store().read(path("n01443537_2.json")), R"({"label": "n01443537"})");
}

// A run that was stopped after each group has the bytes of one that was not.
TEST_F(ImageNet, Continues) {
  ASSERT_TRUE(prepare_imagenet(request()).ok());
  // Remains of a killed writer.
  fs::create_directories(root_ / "cut/validation/n01443537");
  fs::create_directories(root_ / "cut/train/n01443537");
  for (const char* split : {"train", "validation"})
    file(fmt::format("cut/{}/n01443537/.x.JPEG.1-1.hone-tmp", split), "x");
  ImageNetRequest q = request("cut");
  q.progress = [](const std::string&, int64_t) -> Result<bool> { return true; };
  int rounds = 0;
  for (; rounds < 10; ++rounds) {
    const auto done = prepare_imagenet(q);
    ASSERT_TRUE(done.ok()) << done.error().text();
    if (!done->stopped) break;
  }
  EXPECT_EQ(rounds, 4);  // three classes and a group of validation images
  EXPECT_EQ(std::system(fmt::format("diff -r {} {}", path("out"), path("cut")).c_str()), 0);
  q.shards = true;
  EXPECT_TRUE(prepare_imagenet(q).error().is(err::kOtherArchives));
}

TEST_F(ImageNet, NamesWhatIsMissing) {
  ImageNetRequest q = request();
  q.expects_all = true;
  EXPECT_THAT(prepare_imagenet(q).error().what(), HasSubstr("3 of 1,000 classes"));
  q.train_tar = "";
  file("val.tar", tar(validation(3)));
  const auto few = prepare_imagenet(q);
  EXPECT_TRUE(few.error().is(err::kImagesMissing));
  EXPECT_THAT(
      few.error().what(),
      HasSubstr("3 of 50,000 validation images were found; missing: ILSVRC2012_val_00000004, "
                "ILSVRC2012_val_00000005"));
  file("val.tar", tar(validation(6)));
  EXPECT_TRUE(prepare_imagenet(q).error().is(err::kOtherArchives));
  fs::create_directories(root_ / "other");
  q.output_dir = path("other"), q.expects_all = false;
  EXPECT_THAT(prepare_imagenet(q).error().what(),
              HasSubstr("'ILSVRC2012_val_00000006.JPEG' has no class"));
}

TEST_F(ImageNet, TruncatedArchives) {
  const std::string whole = *file_store().read(path("train.tar"));
  file("train.tar", whole.substr(0, whole.size() / 2));
  const auto cut = prepare_imagenet(request());
  EXPECT_TRUE(cut.error().is(err::kTar)) << cut.error().text();
  // An archive within the archive.
  const std::string inner = tar({{"n01440764_0.JPEG", std::string(3000, 'x')}});
  file("train.tar", tar({{"n01440764.tar", inner.substr(0, 2000)}}));
  const auto nested = prepare_imagenet(request());
  EXPECT_TRUE(nested.error().is(err::kTar));
  EXPECT_THAT(nested.error().what(),
              HasSubstr("train.tar/n01440764.tar' is not a whole tar archive"));
}

TEST_F(ImageNet, ClassesOfLists) {
  file("list.txt", "n01443537\nn01440764\r\n");
  const auto list = classes_of_list(path("list.txt"));
  ASSERT_TRUE(list.ok()) << list.error().text();
  EXPECT_EQ(list->at("ILSVRC2012_val_00000002"), "n01440764");
  file("kaggle.csv", "ImageId,PredictionString\nILSVRC2012_val_00048981,n03995372 85 1 499 272 \n");
  EXPECT_EQ(classes_of_list(path("kaggle.csv"))->at("ILSVRC2012_val_00048981"), "n03995372");
  file("devkit.txt", "490\n361\n");
  EXPECT_TRUE(classes_of_list(path("devkit.txt")).error().is(err::kValidationClasses));
  file("boxes.tar",
       tar({{"val/a.xml",
             "<annotation><object><name>n01440764</name></object><object><name>n01443537"
             "</name></object></annotation>"}}));
  EXPECT_TRUE(classes_of_boxes(path("boxes.tar")).error().is(err::kValidationClasses));
  ASSERT_EQ(std::system(fmt::format("gzip -kf {}", path("train.tar")).c_str()), 0);
  EXPECT_THAT(classes_of_boxes(path("train.tar.gz")).error().what(), HasSubstr("no .xml file"));
}

}  // namespace
}  // namespace hone
