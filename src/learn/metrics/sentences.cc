#include "learn/metrics/sentences.h"

#include <utf8proc.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <filesystem>

#include "base/core/text.h"
#include "base/unicode/unicode.h"
#include "learn/metrics/characters.h"
#include "learn/metrics/errors.h"

namespace hone {
namespace {

using View = std::u32string_view;

// Forms of a word in training: bits of NLTK's ortho_context.tab.
constexpr int64_t kBeginUpper = 2, kMiddleUpper = 4, kUnknownUpper = 8, kBeginLower = 16,
                  kMiddleLower = 32, kUnknownLower = 64;
constexpr int64_t kUpper = kBeginUpper | kMiddleUpper | kUnknownUpper,
                  kLower = kBeginLower | kMiddleLower | kUnknownLower;

bool is_one_of(View set, char32_t c) { return set.find(c) != View::npos; }
bool is_space(char32_t c) { return is_python_space(c); }
bool is_ascii_space(char32_t c) { return c == ' ' || (c >= 0x09 && c <= 0x0D); }

utf8proc_category_t category(char32_t c) {
  return utf8proc_category(static_cast<utf8proc_int32_t>(c));
}
bool is_digit(char32_t c) { return category(c) == UTF8PROC_CATEGORY_ND; }
bool is_letter(char32_t c) { return is_word_char(c) && !is_digit(c); }

bool is_end(char32_t c) { return c == '.' || c == '?' || c == '!'; }
// Cannot be within a word; a period in front of it may end a sentence.
bool is_non_word(char32_t c) {
  return is_one_of(U")\";}]*:@'({[\u2018\u2019\u201c\u201d\u00ab\u00bb?!", c);
}
// Cannot begin a word.
bool is_no_start(char32_t c) { return is_one_of(U"(\"`{[:;&#*@)}]-,", c); }
// Belongs to the sentence it closes.
bool is_closing(char32_t c) { return is_one_of(U"\"')]}\u2018\u2019\u201c\u201d\u00ab\u00bb", c); }

// Length of "--", "...", ". . ." at `i`, or 0.
size_t punctuation_run(View s, size_t i) {
  const auto run = [&](char32_t c) {
    size_t n = 0;
    while (i + n < s.size() && s[i + n] == c) ++n;
    return n;
  };
  if (const size_t dashes = run('-'); dashes >= 2) return dashes;
  const size_t dots = run('.');
  if (dots >= 2) return dots;
  if (dots == 0) return 0;
  size_t pairs = 0;
  while (i + 2 * pairs + 1 < s.size() && s[i + 2 * pairs] == '.' && is_space(s[i + 2 * pairs + 1]))
    ++pairs;
  // The last of them may have to be the dot at the end.
  if (i + 2 * pairs >= s.size() || s[i + 2 * pairs] != '.') {
    if (pairs == 0) return 0;
    --pairs;
  }
  return pairs >= 2 ? 2 * pairs + 1 : 0;
}

bool ends_word(View s, size_t i) {
  const auto end_or_punctuation = [&](size_t k) {
    return k >= s.size() || is_space(s[k]) || is_non_word(s[k]) || punctuation_run(s, k) > 0;
  };
  return end_or_punctuation(i) || (s[i] == ',' && end_or_punctuation(i + 1));
}

// Words of a line; punctuation but periods is a word.
void words_of(View line, std::vector<View>& words) {
  for (size_t i = 0; i < line.size();) {
    size_t length = punctuation_run(line, i);
    if (length == 0) {
      if (is_space(line[i])) {
        ++i;
        continue;
      }
      length = 1;
      if (!is_no_start(line[i])) {
        while (i + length < line.size() && !ends_word(line, i + length)) ++length;
      }
    }
    words.push_back(line.substr(i, length));
    i += length;
  }
}

std::string lowercase(View s) {
  std::string text, lower;
  for (const char32_t c : s) append_utf8(text, static_cast<uint32_t>(c));
  append_lowercase(text, lower);
  return lower;
}

// An optional sign and point, a digit, then digits, commas, points and dashes.
bool is_number(View s) {
  size_t i = !s.empty() && s[0] == '-';
  i += i < s.size() && (s[i] == '.' || s[i] == ',');
  if (i >= s.size() || !is_digit(s[i])) return false;
  return std::all_of(s.begin() + static_cast<ptrdiff_t>(i), s.end(),
                     [](char32_t c) { return is_digit(c) || c == ',' || c == '.' || c == '-'; });
}

Error bad_data(const std::string& name, int64_t line, const char* what) {
  return Error(err::kSentenceData, what)
      .at(fmt::format("{}:{}", name, line))
      .todo("install NLTK's data again: python -m nltk.downloader punkt_tab");
}

// Hands each line to `take`, which says whether it could be read.
template <class Take>
Status each_line(std::string_view text, const std::string& name, Take take) {
  int64_t line = 0;
  while (!text.empty()) {
    ++line;
    const size_t end = std::min(text.find('\n'), text.size());
    if (!take(text.substr(0, end)))
      return bad_data(name, line, "a line of the sentence splitter's data has not its columns");
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return Ok{};
}

constexpr const char* kFiles[] = {"abbrev_types.txt", "collocations.tab", "sent_starters.txt",
                                  "ortho_context.tab"};

}  // namespace

struct SentenceSplitter::Token {
  View text;
  std::string type;  // lowercased; ##number##
  bool final_period = false, is_break = false, abbreviation = false, ellipsis = false;

  explicit Token(View t) : text(t), type(is_number(t) ? "##number##" : lowercase(t)) {
    final_period = t.back() == '.';
  }
  std::string_view type_without_period() const {
    std::string_view s = type;
    if (s.size() > 1 && s.ends_with('.')) s.remove_suffix(1);
    return s;
  }
  std::string_view next_type() const { return is_break ? type_without_period() : type; }
  bool initial() const { return text.size() == 2 && is_letter(text[0]) && text[1] == '.'; }
  bool upper() const { return category(text[0]) == UTF8PROC_CATEGORY_LU; }
  bool lower() const { return category(text[0]) == UTF8PROC_CATEGORY_LL; }
};

Result<SentenceSplitter> SentenceSplitter::parse(std::string_view abbreviations,
                                                 std::string_view collocations,
                                                 std::string_view starters,
                                                 std::string_view contexts,
                                                 const std::string& name) {
  SentenceSplitter s;
  const auto file = [&](size_t i) { return name + "/" + kFiles[i]; };
  HONE_TRY(each_line(abbreviations, file(0), [&](std::string_view line) {
    s.abbreviations_.emplace(line);
    return true;
  }));
  HONE_TRY(each_line(collocations, file(1), [&](std::string_view line) {
    s.collocations_.emplace(line);
    return std::count(line.begin(), line.end(), '\t') == 1;
  }));
  HONE_TRY(each_line(starters, file(2), [&](std::string_view line) {
    s.starters_.emplace(line);
    return true;
  }));
  HONE_TRY(each_line(contexts, file(3), [&](std::string_view line) {
    const size_t tab = line.find('\t');
    if (tab == std::string_view::npos) return false;
    int64_t bits = 0;
    const auto [end, failed] =
        std::from_chars(line.data() + tab + 1, line.data() + line.size(), bits);
    s.contexts_[std::string(line.substr(0, tab))] = bits;
    return failed == std::errc() && end == line.data() + line.size();
  }));
  return s;
}

Result<SentenceSplitter> SentenceSplitter::load(const std::string& folder) {
  std::string bytes[4];
  for (size_t i = 0; i < 4; ++i) {
    const std::string path = folder + "/" + kFiles[i];
    Result<std::string> read = read_file(path);
    if (!read.ok())
      return Error(err::kSentenceData,
                   "the data of the sentence splitter cannot be read: " + read.error().what())
          .at(path)
          .todo("install NLTK's data again: python -m nltk.downloader punkt_tab");
    bytes[i] = std::move(*read);
  }
  return parse(bytes[0], bytes[1], bytes[2], bytes[3], folder);
}

int64_t SentenceSplitter::context_of(std::string_view type) const {
  const auto it = contexts_.find(type);
  return it == contexts_.end() ? 0 : it->second;
}

// By the word alone: an end, an ellipsis, an abbreviation, or else a period that ends a sentence.
void SentenceSplitter::mark_first(Token& t) const {
  if (t.text.size() == 1 && is_end(t.text[0])) {
    t.is_break = true;
  } else if (t.text.size() > 1 && t.text.find_first_not_of(U'.') == View::npos) {
    t.ellipsis = true;
  } else if (t.final_period && !t.text.ends_with(U"..")) {
    const std::string word = lowercase(t.text.substr(0, t.text.size() - 1));
    const std::string_view last = std::string_view(word).substr(word.rfind('-') + 1);
    t.abbreviation = abbreviations_.contains(word) || abbreviations_.contains(last);
    t.is_break = !t.abbreviation;
  }
}

SentenceSplitter::Starts SentenceSplitter::starts_sentence(const Token& t) const {
  if (t.text.size() == 1 && is_one_of(U";:,.!?", t.text[0])) return Starts::kNo;
  const int64_t seen = context_of(t.next_type());
  if (t.upper() && (seen & kLower) && !(seen & kMiddleUpper)) return Starts::kYes;
  if (t.lower() && ((seen & kUpper) || !(seen & kBeginLower))) return Starts::kNo;
  return Starts::kUnknown;
}

// By the word that follows (sections 4.1 to 4.3 of the paper).
void SentenceSplitter::mark_second(Token& t, const Token& next) const {
  if (!t.final_period) return;
  const std::string_view type = t.type_without_period(), next_type = next.next_type();
  const auto make_abbreviation = [&] {
    t.is_break = false;
    t.abbreviation = true;
  };
  if (collocations_.contains(fmt::format("{}\t{}", type, next_type))) return make_abbreviation();
  const bool initial = t.initial();
  if ((t.abbreviation || t.ellipsis) && !initial &&
      (starts_sentence(next) == Starts::kYes || (next.upper() && starters_.contains(next_type)))) {
    t.is_break = true;
    return;
  }
  if (!initial && type != "##number##") return;
  const Starts starts = starts_sentence(next);
  if (starts == Starts::kNo ||
      (starts == Starts::kUnknown && initial && next.upper() && !(context_of(next_type) & kLower)))
    make_abbreviation();
}

bool SentenceSplitter::holds_break(View context) const {
  std::vector<View> words;
  for (size_t begin = 0; begin <= context.size();) {
    const size_t end = std::min(context.find(U'\n', begin), context.size());
    words_of(context.substr(begin, end - begin), words);
    begin = end + 1;
  }
  std::vector<Token> tokens(words.begin(), words.end());
  for (Token& t : tokens) mark_first(t);
  for (size_t i = 0; i + 1 < tokens.size(); ++i) {
    mark_second(tokens[i], tokens[i + 1]);
    if (tokens[i].is_break) return true;
  }
  return false;
}

std::vector<std::string_view> SentenceSplitter::split(std::string_view text) const {
  std::u32string chars;
  std::vector<size_t> offsets;
  for (const char *p = text.data(), *end = p + text.size(); p < end;) {
    const Char c = decode_char(p, end);
    chars += c.code == kInvalidChar ? U'\uFFFD' : static_cast<char32_t>(c.code);
    offsets.push_back(static_cast<size_t>(p - text.data()));
    p += c.length;
  }
  offsets.push_back(text.size());
  const View s = chars;

  // Every end mark in front of closing punctuation or a word may end a sentence. The text around it
  // that decides begins with the word before; of marks within one word the last one counts.
  struct Mark {
    size_t at, after;  // of the mark, of what follows it: its end
    size_t next_word;  // its beginning, or 0 when punctuation follows
    size_t word;       // where the word before the mark begins
  };
  std::vector<std::pair<size_t, size_t>> slices;  // [begin, end) of the sentences
  size_t last_break = 0;
  const auto decide = [&](const Mark& m) {
    if (!holds_break(s.substr(m.word, m.after - m.word))) return;
    slices.emplace_back(last_break, m.at + 1);
    last_break = m.next_word > 0 ? m.next_word : m.at + 1;
  };
  bool any = false;
  Mark previous{0, 0, 0, 0};
  for (size_t i = 0; i + 1 < s.size(); ++i) {
    if (!is_end(s[i])) continue;
    Mark m{i, i + 2, 0, 0};
    if (!is_non_word(s[i + 1])) {
      size_t k = i + 1;
      while (k < s.size() && is_space(s[k])) ++k;
      if (k == i + 1 || k == s.size()) continue;
      m.next_word = k;
      while (k < s.size() && !is_space(s[k])) ++k;
      m.after = k;
    }
    // The last white space since the mark before; the first character does not count.
    m.word = previous.word;
    for (size_t k = i; k > previous.at + 1; --k) {
      if (is_ascii_space(s[k - 1])) {
        m.word = k;
        break;
      }
    }
    if (any && previous.at <= m.word) decide(previous);
    previous = m;
    any = true;
  }
  if (any) decide(previous);
  size_t end = s.size();
  while (end > 0 && is_space(s[end - 1])) --end;
  slices.emplace_back(last_break, end);

  // Closing punctuation after a break goes back to the sentence that it closes.
  std::vector<std::string_view> sentences;
  const auto give = [&](size_t from, size_t to) {
    sentences.push_back(text.substr(offsets[from], offsets[std::max(from, to)] - offsets[from]));
  };
  size_t moved = 0;
  for (size_t i = 0; i < slices.size(); ++i) {
    const size_t from = slices[i].first + moved, to = slices[i].second;
    moved = 0;
    size_t closing = 0, spaces = 0;
    if (i + 1 < slices.size()) {
      const auto [begin, next_end] = slices[i + 1];
      const View next = begin < next_end ? s.substr(begin, next_end - begin) : View();
      for (size_t k = 0; k < next.size() && is_closing(next[k]); ++k) {
        if (k + 1 < next.size() && !is_space(next[k + 1]) && !next.substr(k + 1).starts_with(U"--"))
          continue;
        closing = k + 1;
        while (closing + spaces < next.size() && is_space(next[closing + spaces])) ++spaces;
        break;
      }
    }
    if (closing > 0) {
      give(from, slices[i + 1].first + closing);
      moved = closing + spaces;
    } else if (from < to) {
      give(from, to);
    }
  }
  return sentences;
}

std::string SentenceSplitter::lines(std::string_view text) const {
  return fmt::format("{}", fmt::join(split(strip(text)), "\n"));
}

Result<std::string> find_punkt_folder(const std::string& nltk_data, const std::string& language) {
  std::vector<std::string> roots = {nltk_data};
  if (nltk_data.empty()) {
    roots.clear();
    if (const char* set = std::getenv("NLTK_DATA")) roots = hone::split(set, ':');
    if (const char* home = std::getenv("HOME")) roots.push_back(std::string(home) + "/nltk_data");
    for (const char* folder : {"/usr/share", "/usr/local/share", "/usr/lib", "/usr/local/lib"})
      roots.push_back(std::string(folder) + "/nltk_data");
  }
  for (const std::string& root : roots) {
    for (const std::string& folder : {root + "/tokenizers/punkt_tab/" + language, root}) {
      std::error_code ignored;
      if (std::filesystem::exists(folder + "/" + kFiles[3], ignored)) return folder;
    }
  }
  return Error(err::kSentenceData, "the data of NLTK's sentence splitter is missing")
      .at(fmt::format("looked in {}", join(roots, ", ")))
      .todo(
          "python -m nltk.downloader punkt_tab, or name the folder with --nltk_data; "
          "--sentence_split newline takes the lines of the text as its sentences");
}

}  // namespace hone
