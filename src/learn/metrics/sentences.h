// Sentences of a text by the Punkt algorithm (Kiss and Strunk, "Unsupervised Multilingual Sentence
// Boundary Detection", Computational Linguistics 32(4), 2006), with the results of nltk 3.10's
// sent_tokenize. NLTK distributes its data about a language (punkt_tab); hone reads an installed
// copy and has none of its own.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "base/core/error.h"

namespace hone {

class SentenceSplitter {
 public:
  // The files of a folder tokenizers/punkt_tab/<language>: abbrev_types.txt, collocations.tab,
  // sent_starters.txt, ortho_context.tab. Errors: H2603.
  static Result<SentenceSplitter> load(const std::string& folder);
  // Reads the contents of these files, in this order; `name` appears in messages.
  static Result<SentenceSplitter> parse(std::string_view abbreviations,
                                        std::string_view collocations, std::string_view starters,
                                        std::string_view contexts, const std::string& name);

  // Views into `text`, without the white space between sentences.
  std::vector<std::string_view> split(std::string_view text) const;

  // The text that run_summarization gives to ROUGE: stripped, a line for each sentence.
  std::string lines(std::string_view text) const;

 private:
  struct Token;
  struct Hash {
    using is_transparent = void;
    size_t operator()(std::string_view s) const { return std::hash<std::string_view>()(s); }
  };
  using Words = std::unordered_set<std::string, Hash, std::equal_to<>>;
  enum class Starts { kYes, kNo, kUnknown };

  bool holds_break(std::u32string_view context) const;
  void mark_first(Token& t) const;
  void mark_second(Token& t, const Token& next) const;
  Starts starts_sentence(const Token& t) const;
  int64_t context_of(std::string_view type) const;

  Words abbreviations_, starters_;
  Words collocations_;  // "first\tsecond"
  std::unordered_map<std::string, int64_t, Hash, std::equal_to<>> contexts_;
};

// Finds the folder of a language's Punkt data below nltk's folders: NLTK_DATA (a list with ':'),
// ~/nltk_data, /usr/share/nltk_data, /usr/local/share/nltk_data, /usr/lib/nltk_data,
// /usr/local/lib/nltk_data. `nltk_data` replaces all of them unless it is empty; it may be the
// language's own folder. Errors: H2603 with the searched folders.
Result<std::string> find_punkt_folder(const std::string& nltk_data = "",
                                      const std::string& language = "english");

}  // namespace hone
