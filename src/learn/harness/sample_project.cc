#include "learn/harness/sample_project.h"

#include "base/core/error.h"

namespace hone {

std::string SampleSentence::text() const {
  return fmt::format(
      "The ferry to {} leaves at {}. There was {} in the morning, and few people waited at the "
      "pier.",
      place, time, weather);
}

std::string SampleSentence::prompt() const {
  return fmt::format("The ferry to {} leaves at {}. When does it leave?", place, time);
}

std::string SampleSentence::answer() const { return fmt::format(" At {}.", time); }

bool SampleSentence::is_good() const {
  return weather == "sun" || weather == "wind" || weather == "snow";
}

SampleSentence sample_sentence(int i) {
  static const char* const places[] = {"the island", "the harbour", "the village", "the old town",
                                       "the lake"};
  static const char* const times[] = {"nine", "ten", "noon", "six", "seven", "midnight", "dawn"};
  static const char* const weathers[] = {"rain", "snow", "fog", "sun", "wind", "hail"};
  return {places[i % 5], times[i % 7], weathers[i % 6]};
}

}  // namespace hone
