// Stages with a regex that matches between characters, against those of tokenizers.
#include <gtest/gtest.h>

#include "base/core/json.h"
#include "learn/tokenizers/stages/stages.h"
#include "learn/tokenizers/text/json_dom.h"

namespace hone {
namespace {

// The stage that `make` makes of a type and options, with the pattern `regex`.
template <class Stage>
std::unique_ptr<Stage> made(Result<std::unique_ptr<Stage>> (*make)(const JsonAt&,
                                                                   const StageContext&),
                            Json spec, const std::string& regex) {
  spec["pattern"] = {{"Regex", regex}};
  const JsonDocument document = JsonDocument::parse(spec.dump(), "spec").value();
  return std::move(make({document.root(), "spec"}, {})).value();
}

TEST(EmptyMatches, AreThoseOfTokenizers) {
  const Json golden =
      read_json_file(std::string(HONE_SOURCE_DIR) + "/tests/goldens/tokenizers/empty_matches.json")
          .value();
  for (const Json& row : golden) {
    const std::string regex = row[0], text = row[1];
    SCOPED_TRACE(regex + " in " + text);
    std::string buffer;
    const auto replace = made(make_normalizer, {{"type", "Replace"}, {"content", ","}}, regex);
    EXPECT_EQ(replace->normalize(text, buffer), row[2].get<std::string>());
    for (const auto& [how, pieces] : row[3].items()) {
      const auto split = made(make_pre_tokenizer,
                              {{"type", "Split"},
                               {"behavior", how.substr(0, how.find(' '))},
                               {"invert", how.ends_with(" inverted")}},
                              regex);
      Json got = Json::array();
      split->split(text, true, [&](std::string_view piece) { got.push_back(piece); });
      EXPECT_EQ(got, pieces) << how;
    }
  }
}

}  // namespace
}  // namespace hone
