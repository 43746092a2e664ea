#include "learn/metrics/porter.h"

#include <span>
#include <string_view>
#include <utility>

namespace hone {
namespace {

bool is_vowel(char c) { return c == 'a' || c == 'e' || c == 'i' || c == 'o' || c == 'u'; }

// A 'y' is a consonant when it begins the word or follows a vowel.
bool is_consonant(std::string_view w, size_t i) {
  bool flip = false;
  for (; i > 0 && w[i] == 'y'; --i) flip = !flip;
  return !is_vowel(w[i]) != flip;
}

// m of [C](VC)^m[V].
int measure(std::string_view w) {
  int m = 0;
  bool consonant = true;
  for (size_t i = 0; i < w.size(); ++i) {
    const bool now = w[i] == 'y' ? i == 0 || !consonant : !is_vowel(w[i]);
    m += i > 0 && now && !consonant;
    consonant = now;
  }
  return m;
}

bool contains_vowel(std::string_view w) {
  bool consonant = false;
  for (size_t i = 0; i < w.size(); ++i) {
    consonant = w[i] == 'y' ? i == 0 || !consonant : !is_vowel(w[i]);
    if (!consonant) return true;
  }
  return false;
}

bool ends_double_consonant(std::string_view w) {
  const size_t n = w.size();
  return n >= 2 && w[n - 1] == w[n - 2] && is_consonant(w, n - 1);
}

// *o: consonant, vowel, consonant other than w, x, y; NLTK: also vowel and consonant alone.
bool ends_cvc(std::string_view w) {
  const size_t n = w.size();
  if (n == 2) return !is_consonant(w, 0) && is_consonant(w, 1);
  return n >= 3 && is_consonant(w, n - 3) && !is_consonant(w, n - 2) && is_consonant(w, n - 1) &&
         w[n - 1] != 'w' && w[n - 1] != 'x' && w[n - 1] != 'y';
}

struct Rule {
  std::string_view suffix, by;
};

// The first rule whose suffix fits decides, whether its condition on the stem holds or not.
template <class Condition>
void apply_rules(std::string& w, std::span<const Rule> rules, Condition holds) {
  for (const Rule& r : rules) {
    if (!w.ends_with(r.suffix)) continue;
    const std::string_view stem = std::string_view(w).substr(0, w.size() - r.suffix.size());
    if (holds(stem, r)) w.replace(stem.size(), r.suffix.size(), r.by);
    return;
  }
}

void step_1a(std::string& w) {
  if (w.ends_with("sses") || (w.ends_with("ies") && w.size() != 4))
    w.erase(w.size() - 2);
  else if (w.ends_with('s') && !w.ends_with("ss"))
    w.pop_back();
}

void step_1b(std::string& w) {
  if (w.ends_with("ied")) {
    w.erase(w.size() - (w.size() == 4 ? 1 : 2));
    return;
  }
  if (w.ends_with("eed")) {
    if (measure(std::string_view(w).substr(0, w.size() - 3)) > 0) w.pop_back();
    return;
  }
  const size_t cut = w.ends_with("ed") ? 2 : w.ends_with("ing") ? 3 : 0;
  if (cut == 0 || !contains_vowel(std::string_view(w).substr(0, w.size() - cut))) return;
  w.erase(w.size() - cut);
  if (w.ends_with("at") || w.ends_with("bl") || w.ends_with("iz")) {
    w += 'e';
  } else if (ends_double_consonant(w)) {
    const char last = w.back();
    if (last != 'l' && last != 's' && last != 'z') w.pop_back();
  } else if (measure(w) == 1 && ends_cvc(w)) {
    w += 'e';
  }
}

void step_1c(std::string& w) {
  const size_t n = w.size();
  if (n > 2 && w.back() == 'y' && is_consonant(std::string_view(w).substr(0, n - 1), n - 2))
    w.back() = 'i';
}

constexpr Rule kStep2[] = {
    {"ational", "ate"}, {"tional", "tion"}, {"enci", "ence"}, {"anci", "ance"}, {"izer", "ize"},
    {"bli", "ble"},     {"alli", "al"},     {"entli", "ent"}, {"eli", "e"},     {"ousli", "ous"},
    {"ization", "ize"}, {"ation", "ate"},   {"ator", "ate"},  {"alism", "al"},  {"iveness", "ive"},
    {"fulness", "ful"}, {"ousness", "ous"}, {"aliti", "al"},  {"iviti", "ive"}, {"biliti", "ble"},
    {"fulli", "ful"},   {"logi", "log"}};

constexpr Rule kStep3[] = {{"icate", "ic"}, {"ative", ""}, {"alize", "al"}, {"iciti", "ic"},
                           {"ical", "ic"},  {"ful", ""},   {"ness", ""}};

constexpr Rule kStep4[] = {{"al", ""},   {"ance", ""}, {"ence", ""}, {"er", ""},    {"ic", ""},
                           {"able", ""}, {"ible", ""}, {"ant", ""},  {"ement", ""}, {"ment", ""},
                           {"ent", ""},  {"ion", ""},  {"ou", ""},   {"ism", ""},   {"ate", ""},
                           {"iti", ""},  {"ous", ""},  {"ive", ""},  {"ize", ""}};

void step_2(std::string& w) {
  while (w.ends_with("alli") && measure(std::string_view(w).substr(0, w.size() - 4)) > 0)
    w.erase(w.size() - 2);
  apply_rules(w, kStep2, [&](std::string_view stem, const Rule& r) {
    // The l of logi counts with the stem, so that geologi follows archaeologi.
    return measure(r.suffix == "logi" ? std::string_view(w).substr(0, w.size() - 3) : stem) > 0;
  });
}

void step_3(std::string& w) {
  apply_rules(w, kStep3, [](std::string_view stem, const Rule&) { return measure(stem) > 0; });
}

void step_4(std::string& w) {
  apply_rules(w, kStep4, [](std::string_view stem, const Rule& r) {
    return measure(stem) > 1 && (r.suffix != "ion" || stem.back() == 's' || stem.back() == 't');
  });
}

void step_5(std::string& w) {
  if (w.ends_with('e')) {
    const std::string_view stem = std::string_view(w).substr(0, w.size() - 1);
    const int m = measure(stem);
    if (m > 1 || (m == 1 && !ends_cvc(stem))) w.pop_back();
  }
  if (w.ends_with("ll") && measure(std::string_view(w).substr(0, w.size() - 1)) > 1) w.pop_back();
}

constexpr std::pair<std::string_view, std::string_view> kIrregular[] = {
    {"sky", "sky"},        {"skies", "sky"},       {"dying", "die"},        {"lying", "lie"},
    {"tying", "tie"},      {"news", "news"},       {"innings", "inning"},   {"inning", "inning"},
    {"outings", "outing"}, {"outing", "outing"},   {"cannings", "canning"}, {"canning", "canning"},
    {"howe", "howe"},      {"proceed", "proceed"}, {"exceed", "exceed"},    {"succeed", "succeed"}};

}  // namespace

void porter_stem(std::string& word) {
  if (word.size() <= 2) return;
  for (const auto& [form, stem] : kIrregular) {
    if (word == form) {
      word = stem;
      return;
    }
  }
  step_1a(word);
  step_1b(word);
  step_1c(word);
  step_2(word);
  step_3(word);
  step_4(word);
  step_5(word);
}

}  // namespace hone
