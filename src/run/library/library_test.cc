// The C interface: what a caller gets, and the error when it asks for the impossible.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "run/library/errors.h"
#include "run/library/hone.h"

namespace hone {
namespace {

using testing::HasSubstr;

const std::string kModel = std::string(HONE_SOURCE_DIR) + "/tests/goldens/tiny_text_gpt2";
const std::string kNoTokenizer = std::string(HONE_SOURCE_DIR) + "/tests/goldens/models/gpt2_tiny";

struct Library : testing::Test {
  void open(const std::string& name, const char* options) {
    model = hone_open(name.c_str(), options);
    ASSERT_NE(model, nullptr) << hone_error();
  }
  void TearDown() override { hone_close(model); }
  hone_model* model = nullptr;
};

TEST_F(Library, TextGoesInAndOut) {
  open(kModel, "{\"threads\": 1}");
  int32_t ids[16];
  const int64_t count = hone_tokenize(model, "Hello, world", ids, 16);
  ASSERT_EQ(count, 6);
  EXPECT_EQ(hone_tokenize(model, "Hello, world", nullptr, 0), 6);
  char text[64];
  EXPECT_EQ(hone_detokenize(model, {ids, count}, text, 64), 12);
  EXPECT_STREQ(text, "Hello, world");
  EXPECT_EQ(hone_detokenize(model, {ids, count}, text, 6), 12);
  EXPECT_STREQ(text, "Hello");
}

TEST_F(Library, ABatchEqualsItsPromptsAlone) {
  open(kModel, "{\"threads\": 1, \"batch_size\": 4, \"max_length\": 64}");
  const char* prompts[] = {"Hello, world", "the cat sat", "x"};
  const char* settings = "{\"max_new_tokens\": 6, \"num_beams\": 2, \"num_return_sequences\": 2}";
  hone_batch* all = hone_generate_text(model, prompts, 3, settings);
  ASSERT_NE(all, nullptr) << hone_error();
  ASSERT_EQ(hone_batch_size(all), 6);
  for (int i = 0; i < 3; ++i) {
    hone_batch* one = hone_generate_text(model, prompts + i, 1, settings);
    ASSERT_NE(one, nullptr) << hone_error();
    for (int k = 0; k < 2; ++k)
      EXPECT_STREQ(hone_batch_text(one, k), hone_batch_text(all, 2 * i + k));
    EXPECT_EQ(hone_batch_text(one, 2), nullptr);
    EXPECT_EQ(hone_batch_tokens(one, -1).count, 0);
    hone_batch_free(one);
  }
  hone_batch_free(all);
}

TEST_F(Library, WhatDoesNotGoIsSaid) {
  EXPECT_EQ(hone_open("no/such/folder/here", nullptr), nullptr);
  EXPECT_THAT(hone_error(), HasSubstr("no/such/folder/here"));
  EXPECT_EQ(hone_open(kModel.c_str(), "{\"thread\": 1}"), nullptr);
  EXPECT_THAT(hone_error(), HasSubstr("threads"));
  EXPECT_EQ(hone_open(kModel.c_str(), "{"), nullptr);
  EXPECT_THAT(hone_error(), HasSubstr("options.json:1"));

  open(kModel, "{\"threads\": 1, \"batch_size\": 1, \"max_length\": 16}");
  const char* prompt = "Hello, world";
  EXPECT_EQ(hone_generate_text(model, &prompt, 1, "{\"max_new_token\": 1}"), nullptr);
  EXPECT_THAT(hone_error(), HasSubstr("did you mean 'max_new_tokens'"));
  EXPECT_EQ(hone_generate_text(model, &prompt, 1, "{\"max_new_tokens\": 50}"), nullptr);
  EXPECT_THAT(hone_error(), HasSubstr(err::kLibraryLimit.id));
  EXPECT_EQ(hone_generate_text(model, &prompt, 1, "{\"max_new_tokens\": 2, \"num_beams\": 4}"),
            nullptr);
  EXPECT_THAT(hone_error(), HasSubstr(err::kLibraryLimit.id));
  const int32_t beyond = 1 << 30;
  const hone_tokens tokens{&beyond, 1};
  EXPECT_EQ(hone_generate(model, &tokens, 1, nullptr), nullptr);
  EXPECT_THAT(hone_error(), HasSubstr("1073741824"));
}

TEST_F(Library, AModelWithoutTokenizerTakesIds) {
  open(kNoTokenizer, "{\"threads\": 1}");
  const char* prompt = "Hello";
  EXPECT_EQ(hone_generate_text(model, &prompt, 1, nullptr), nullptr);
  EXPECT_THAT(hone_error(), HasSubstr(err::kLibraryTokenizer.id));
  const std::vector<int32_t> ids = {1, 2, 3};
  const hone_tokens tokens{ids.data(), 3};
  hone_batch* batch = hone_generate(model, &tokens, 1, "{\"max_new_tokens\": 3, \"seed\": 1}");
  ASSERT_NE(batch, nullptr) << hone_error();
  EXPECT_EQ(hone_batch_tokens(batch, 0).count, 3);
  hone_batch_free(batch);
}

}  // namespace
}  // namespace hone
