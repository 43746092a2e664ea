#include "learn/models/layer_pattern.h"

#include <gtest/gtest.h>

namespace hone {
namespace {

// As Python's re.fullmatch.
TEST(LayerPattern, IsPythons) {
  const char* q = "model.layers.1.self_attn.q_proj";
  for (const char* pattern :
       {R"(.*(?<!mlp)\.(q|v)_proj)", R"(.*layers\.(?P<n>\d)\.self_attn\.(q|o)_proj)",
        R"((?i)MODEL\..*Q_PROJ)", R"(model\.layers\.\d{,2}\.self_attn\.q_proj\Z)",
        R"(model.*(?P<a>l)(?P=a).*|.*q_proj)", R"(.*\.self_attn\.(?:(?!v_)\w)+)"}) {
    EXPECT_EQ(fault_of_pattern(pattern), std::nullopt) << pattern;
    EXPECT_TRUE(matches_layer(pattern, q)) << pattern;
  }
  for (const char* pattern : {"q_proj", "model", R"(.*(?<!self_attn)\.q_proj)", ""})
    EXPECT_FALSE(matches_layer(pattern, q)) << pattern;
}

TEST(LayerPattern, FaultsNameTheirPart) {
  const std::string fault = fault_of_pattern("ab(?<!c").value_or("none");
  EXPECT_NE(fault.find("missing closing parenthesis, after 'ab(?<!c'"), std::string::npos) << fault;
  EXPECT_FALSE(matches_layer("ab(?<!c", "ab"));
}

}  // namespace
}  // namespace hone
