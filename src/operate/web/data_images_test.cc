// Images on the page Data: cells of parquet, folders of classes, wrong predictions, and paths that are refused.
#include "base/core/text.h"
#include "learn/images/encode.h"
#include "operate/web/errors.h"
#include "operate/web/pages_test.h"

namespace hone {
namespace {

const std::string kPictures = std::string(HONE_SOURCE_DIR) + "/tests/goldens/image_folder/";

class DataImages : public PagesTest {
 protected:
  void copy_pictures(const std::string& from, const std::string& name) {
    std::filesystem::create_directories(std::filesystem::path(at(name)).parent_path());
    std::filesystem::copy(kPictures + from, at(name), std::filesystem::copy_options::recursive);
  }
};

TEST_F(DataImages, CellsLeadToTheirBytes) {
  copy_pictures("train.parquet", "below/train.parquet");
  if (ask("/api/data?file=train.parquet").body.find("libhone_arrow") != std::string::npos)
    GTEST_SKIP() << "this build has no Arrow";
  const OrderedJson page = json("/api/data?file=train.parquet&from=2&count=3");
  ASSERT_EQ(page.at("rows").size(), 3u);
  const OrderedJson& cell = page.at("rows").at(0).at("cells").at("image");
  EXPECT_EQ(cell.at("image"), OrderedJson({{"row", 3}, {"column", "image"}}));
  const HttpResponse image = ask("/api/data?file=train.parquet&row=3&column=image");
  EXPECT_EQ(image.status, 200);
  EXPECT_EQ(image.headers.at("content-type").substr(0, 6), "image/");
  EXPECT_EQ(std::to_string(image.body.size()), dump_json(cell.at("bytes")));
  EXPECT_EQ(text_at(json("/api/data?file=train.parquet&row=3&column=label", 400), "code"),
            err::kWebView.id);
  EXPECT_EQ(text_at(json("/api/data?file=train.parquet&row=999&column=image", 400), "code"),
            err::kWebView.id);
}

TEST_F(DataImages, FoldersOfClassesAreRows) {
  copy_pictures("train", "below/pets/train");
  copy_pictures("validation", "below/pets/validation");
  put_run("r1", "run", "image_classification", {{"dataset_name", "pets"}});
  put_run("r2", "second", "image_classification", {{"train_dir", "pets/train"}});
  const OrderedJson lists = json("/api/data");
  ASSERT_EQ(lists.at("sets").size(), 2u) << dump_json(lists);
  for (const OrderedJson& set : lists.at("sets")) EXPECT_EQ(text_at(set, "kind"), "images");
  const OrderedJson page = json("/api/data?file=pets/train&from=0&count=7");
  EXPECT_EQ(page.at("rows").size(), 7u);
  EXPECT_EQ(page.at("more"), true);
  const OrderedJson& cells = page.at("rows").at(6).at("cells");
  EXPECT_EQ(text_at(cells, "label"), "dog");
  const std::string picture = text_at(cells.at("image"), "picture");
  EXPECT_TRUE(picture.starts_with("pets/train/dog/")) << picture;
  const HttpResponse image = ask("/api/data?picture=" + picture);
  EXPECT_EQ(image.body, read_file(at("below/" + picture)).value());
}

TEST_F(DataImages, WrongPredictionsAreShownAlone) {
  copy_pictures("validation", "below/pets");
  put("below/run/eval_examples.jsonl",
      R"({"image": "../pets/cat/0.jpg", "prediction": "cat", "probability": 0.9, "reference": "cat"})"
      "\n"
      R"({"image": "../pets/dog/0.jpg", "prediction": "owl", "probability": 0.6, "reference": "dog"})"
      "\n"
      R"({"image": "gone.jpg", "prediction": "cat", "probability": 0.5, "reference": "owl"})"
      "\n");
  const std::string path = "/api/data?file=run/eval_examples.jsonl";
  EXPECT_EQ(json(path).at("rows").size(), 3u);
  EXPECT_EQ(json(path).at("evaluated"), true);
  const OrderedJson wrong = json(path + "&wrong=1");
  ASSERT_EQ(wrong.at("rows").size(), 2u);
  EXPECT_EQ(wrong.at("rows").at(0).at("row"), 2);
  EXPECT_EQ(text_at(wrong.at("rows").at(0).at("cells").at("image"), "picture"), "pets/dog/0.jpg");
  EXPECT_EQ(wrong.at("rows").at(0).at("cells").at("probability"), 0.6);
  EXPECT_EQ(text_at(wrong.at("rows").at(1).at("cells"), "image"), "gone.jpg");
  EXPECT_EQ(json(path + "&wrong=1&from=1").at("rows").at(0).at("row"), 3);
}

TEST_F(DataImages, SamplesOfACheckAreShownBesideTheirImages) {
  copy_pictures("validation", "below/pets");
  std::filesystem::create_directories(at("below/out/check_samples"));
  put("below/out/check_samples/1_epoch_0.png", encode_png(Image{2, 2, std::vector<uint8_t>(16)}));
  put("below/out/check_samples/samples.jsonl",
      R"({"image": "pets/cat/0.jpg", "label": "cat", "epoch_0": "1_epoch_0.png"})"
      "\n");
  const OrderedJson lists = json("/api/data");
  EXPECT_EQ(lists.at("files").at(0), "out/check_samples/samples.jsonl") << dump_json(lists);
  const OrderedJson page = json("/api/data?file=out/check_samples/samples.jsonl");
  const OrderedJson& cells = page.at("rows").at(0).at("cells");
  EXPECT_EQ(text_at(cells.at("image"), "picture"), "pets/cat/0.jpg");
  EXPECT_EQ(text_at(cells.at("epoch_0"), "picture"), "out/check_samples/1_epoch_0.png");
  EXPECT_EQ(ask("/api/data?picture=out/check_samples/1_epoch_0.png")
                .headers.at("content-type")
                .substr(0, 9),
            "image/png");
}

TEST_F(DataImages, OnlyImagesInTheFoldersAreSent) {
  put("outside.jpg", read_file(kPictures + "validation/cat/0.jpg").value());
  put("below/text.jpg", "not an image");
  put("below/secret.txt", "text");
  std::filesystem::create_symlink(at("outside.jpg"), at("below/link.jpg"));
  EXPECT_EQ(text_at(json("/api/data?picture=../outside.jpg", 404), "code"), err::kNotBelow.id);
  EXPECT_EQ(text_at(json("/api/data?picture=link.jpg", 404), "code"), err::kNotBelow.id);
  EXPECT_EQ(text_at(json("/api/data?picture=text.jpg", 400), "code"), err::kWebView.id);
  EXPECT_EQ(text_at(json("/api/data?picture=secret.txt", 400), "code"), err::kWebView.id);
}

}  // namespace
}  // namespace hone
