// Any bytes as the data of the sentence splitter and as text: sentences are pieces of the text in
// their order, and hold all of it but white space.
#include <cstdint>

#include "base/core/text.h"
#include "learn/metrics/characters.h"
#include "learn/metrics/sentences.h"

using namespace hone;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  // Five parts in a row, each but the last ended by a zero byte.
  std::vector<std::string> parts = split(std::string(reinterpret_cast<const char*>(data), size), 0);
  while (parts.size() < 5) parts.insert(parts.begin(), "");
  const std::string_view text = parts[4];
  const auto sentences = SentenceSplitter::parse(parts[0], parts[1], parts[2], parts[3], "fuzz");
  if (!sentences.ok() || text.size() > 10000) return 0;
  const char* at = text.data();
  for (const std::string_view s : sentences->split(text)) {
    HONE_BUG_IF(s.data() < at || s.data() + s.size() > text.data() + text.size(),
                "a sentence of {} bytes lies outside", s.size());
    HONE_BUG_IF(!strip({at, s.data()}).empty(), "text is lost before '{}'", s);
    at = s.data() + s.size();
  }
  HONE_BUG_IF(!strip({at, text.data() + text.size()}).empty(), "text is lost at the end");
  return 0;
}
