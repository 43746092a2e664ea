// Splits a text into sentences by the Punkt algorithm (Kiss and Strunk, "Unsupervised Multilingual Sentence Boundary
// Detection", Computational Linguistics 32(4), 2006). The results are those of sent_tokenize in NLTK 3.10. The
// algorithm needs data about the language, which NLTK distributes (punkt_tab). hone reads an installed copy of this
// data and does not contain one.
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
  // Reads the files of a folder tokenizers/punkt_tab/<language>: abbrev_types.txt, collocations.tab, sent_starters.txt
  // and ortho_context.tab. H2603: a file is missing or has another form.
  static Result<SentenceSplitter> load(const std::string& folder);
  // Takes the contents of the files that load() reads, in that order. `name` stands for the folder in messages. H2603:
  // as load().
  static Result<SentenceSplitter> parse(std::string_view abbreviations,
                                        std::string_view collocations, std::string_view starters,
                                        std::string_view contexts, const std::string& name);

  // The sentences as views into `text`, without the white space between them.
  std::vector<std::string_view> split(std::string_view text) const;

  // The text in the form that run_summarization gives to ROUGE: white space at both ends removed, one sentence a line.
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

// Finds the folder with a language's Punkt data. Searches NLTK's folders, which are those in the variable NLTK_DATA
// (separated by ':'), ~/nltk_data, /usr/share/nltk_data, /usr/local/share/nltk_data, /usr/lib/nltk_data and
// /usr/local/lib/nltk_data. If `nltk_data` is not "", only this folder is searched; it may also be the language's own
// folder. H2603: the data was not found; the message lists the searched folders.
Result<std::string> find_punkt_folder(const std::string& nltk_data = "",
                                      const std::string& language = "english");

}  // namespace hone
