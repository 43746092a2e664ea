// Tests of the places that other machines know a pipeline's folders by.
#include "operate/pipeline/published.h"

#include <gmock/gmock.h>
#include <stdlib.h>

namespace hone {
namespace {

class Published : public testing::Test {
 protected:
  void SetUp() override {
    for (const auto& [name, value] : published_environment("/state/runs/", "gs://b/runs/"))
      ::setenv(name.c_str(), value.c_str(), 1);
  }
  void TearDown() override {
    for (const auto& [name, value] : published_environment("", "")) ::unsetenv(name.c_str());
  }
};

TEST_F(Published, PathsOfStepsBecomeTheirUrls) {
  EXPECT_EQ(published_place("/state/runs/one/train"), "gs://b/runs/one/train");
  EXPECT_EQ(published_place("/state/runs/one/train.part/"), "gs://b/runs/one/train");
  EXPECT_EQ(published_place("/state/runs/one/./download/model"), "gs://b/runs/one/download/model");
  EXPECT_EQ(published_place("/state/runs/one/train/a.part"), "gs://b/runs/one/train/a.part");
}

TEST_F(Published, OtherTextsStay) {
  for (const char* text : {"/state/runs", "/state/runs2/one", "/elsewhere/one/train", "gpt2",
                           "org/gpt2", "gs://b/runs/one", "summarize: ", ""})
    EXPECT_EQ(published_place(text), text);
}

TEST_F(Published, EveryTextOfAValueIsReplaced) {
  const OrderedJson value = {
      {"files", {"/state/runs/one/a", "b.csv"}}, {"rate", 0.5}, {"x", nullptr}};
  EXPECT_EQ(dump_json(published_places(value)),
            R"({"files": ["gs://b/runs/one/a", "b.csv"], "rate": 0.5, "x": null})");
}

TEST(PublishedOutsideAStep, NothingChanges) {
  EXPECT_EQ(published_place("/state/runs/one/train"), "/state/runs/one/train");
}

}  // namespace
}  // namespace hone
