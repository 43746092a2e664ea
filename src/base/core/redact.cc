#include "base/core/redact.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <utility>

#include "base/core/text.h"

namespace hone {
namespace {

constexpr const char* kRedacted = "***";

template <size_t N>
bool is_among(const std::array<std::string_view, N>& words, std::string_view word) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

// "hubToken" and "HUB-TOKEN" -> {"hub", "token"}.
std::vector<std::string> words_of(const std::string& name) {
  std::vector<std::string> words = {""};
  for (size_t i = 0; i < name.size(); ++i) {
    const auto c = static_cast<unsigned char>(name[i]);
    const bool begins =
        std::isupper(c) && i > 0 && std::islower(static_cast<unsigned char>(name[i - 1]));
    if (begins || !std::isalnum(c)) words.emplace_back();
    if (std::isalnum(c)) words.back() += static_cast<char>(std::tolower(c));
  }
  return words;
}

// Words that a name of text or of a place has beside "token" or "credentials": nothing secret.
constexpr std::array<std::string_view, 14> kText = {"pad", "eos",  "bos",     "unk",        "mask",
                                                    "sep", "cls",  "special", "start",      "end",
                                                    "per", "stop", "type",    "application"};

// "hubtoken", not "eostoken".
bool ends_in_a_token(std::string_view word) {
  if (!word.ends_with("token")) return false;
  word.remove_suffix(std::string_view("token").size());
  return word != "max" && !is_among(kText, word);
}

// The well-known beginnings of tokens.
constexpr std::array<std::string_view, 10> kBeginnings = {
    "AIza", "hf_", "ghp_", "github_pat_", "sk-", "AKIA", "ASIA", "ya29.", "glpat-", "xoxb-"};

}  // namespace

bool names_a_secret(const std::string& name) {
  static constexpr std::array<std::string_view, 17> kSecret = {
      "token",       "password",      "passwd", "secret",    "apikey",    "credential",
      "credentials", "authorization", "sig",    "signature", "accesskey", "bearer",
      "pwd",         "passphrase",    "jwt",    "auth",      "sessionid"};
  const std::vector<std::string> words = words_of(name);
  if (words.back() == "file") return false;  // the name of a file that holds one
  bool secret = false;
  for (size_t i = 0; i < words.size(); ++i) {
    if (is_among(kText, words[i])) return false;
    secret = secret || is_among(kSecret, words[i]) || ends_in_a_token(words[i]) ||
             (words[i] == "key" && i > 0 &&
              (words[i - 1] == "api" || words[i - 1].ends_with("access") ||
               words[i - 1] == "private" || words[i - 1] == "account")) ||
             (words[i] == "id" && i > 0 && words[i - 1] == "session");
  }
  return secret;
}

namespace {

// In the query of a URL these are secrets too: the key of a service of Google, the code of OAuth.
bool names_a_secret_of_a_query(const std::string& name) {
  return name == "key" || name == "code" || names_a_secret(name);
}

// The names and values after a URL's '?'.
std::string redacted_query(const std::string& query) {
  std::vector<std::string> parts = split(query, '&');
  for (std::string& part : parts)
    if (const size_t is = part.find('=');
        is != std::string::npos && names_a_secret_of_a_query(part.substr(0, is)))
      part = part.substr(0, is + 1) + kRedacted;
  return join(parts, "&");
}

bool looks_like_a_token(std::string_view text) {
  constexpr size_t kShortest = 16;
  if (text.starts_with("Bearer ") || text.starts_with("Basic ")) return true;
  const auto begins = [&](std::string_view b) { return text.starts_with(b); };
  return text.size() >= kShortest && std::any_of(kBeginnings.begin(), kBeginnings.end(), begins) &&
         text.find_first_of(" /\n") == std::string_view::npos;
}

// A URL without user, password and secrets of the query. A password may have any sign of its own in it, so what
// is before the last '@' goes, up to the first '/'.
std::string redacted_url(const std::string& url) {
  const size_t scheme = url.find("://");
  if (scheme == std::string::npos) return url;
  const size_t begin = scheme + 3, end = std::min(url.find('/', begin), url.size());
  const size_t at = url.substr(begin, end - begin).rfind('@');
  const std::string rest =
      url.substr(0, begin) + url.substr(at == std::string::npos ? begin : begin + at + 1);
  const size_t query = rest.find('?');
  return query == std::string::npos
             ? rest
             : rest.substr(0, query + 1) + redacted_query(rest.substr(query + 1));
}

// One word of a text: a URL, a token, --token=abc, HF_TOKEN=abc or something else.
std::string redacted_word(const std::string& word) {
  if (looks_like_a_token(word)) return kRedacted;
  const size_t scheme = word.find("://"), is = word.find('=');
  if (is != std::string::npos && is < scheme) {
    const size_t name = word.find_first_not_of('-');
    const bool secret = name < is && names_a_secret(word.substr(name, is - name));
    if (is + 1 < word.size())
      return word.substr(0, is + 1) + (secret ? kRedacted : redacted_word(word.substr(is + 1)));
    return word;
  }
  if (scheme != std::string::npos) return redacted_url(word);
  const size_t colon = word.find(':');
  if (colon != std::string::npos && looks_like_a_token(std::string_view(word).substr(colon + 1)))
    return word.substr(0, colon + 1) + kRedacted;
  return word;
}

// The closing quote of a text that begins after its opening one.
size_t end_of_quoted(const std::string& text, size_t begin) {
  const char quote = text[begin - 1];
  size_t end = begin;
  while (end < text.size() && text[end] != quote) end += text[end] == '\\' ? 2 : 1;
  return std::min(end, text.size());
}

// $HONE_API_KEY, $(head -n 1 FILE): a shell fills in the secret, so a line to paste keeps it. Only names of secrets in
// capitals: a password may begin with '$' too.
bool is_variable_of_a_secret(const std::string& word) {
  if (word == "$(head") return true;
  constexpr std::string_view kName = "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_";
  return word.size() > 1 && word[0] == '$' && word.find_first_not_of(kName, 1) == word.npos &&
         names_a_secret(word.substr(1));
}

bool is_scheme_of_authorization(const std::string& word) {
  return word == "Bearer" || word == "bearer" || word == "Basic" || word == "basic";
}

}  // namespace

std::string redact_address(const std::string& address) { return redacted_url(address); }

bool may_hold_a_secret(std::string_view text) {
  const auto holds = [&](std::string_view mark) { return text.find(mark) != text.npos; };
  static constexpr std::array<std::string_view, 7> kMarks = {"://",   "=",   "--", "earer ",
                                                             "asic ", "\":", "':"};
  return std::any_of(kMarks.begin(), kMarks.end(), holds) ||
         std::any_of(kBeginnings.begin(), kBeginnings.end(), holds);
}

std::string redact_text(const std::string& text) {
  if (text.starts_with("Bearer ") || text.starts_with("Basic ")) return kRedacted;
  std::string redacted, before;
  bool next_is_secret = false;  // after --token
  bool next_member_is = false;  // after "token":
  bool before_quoted = false;
  size_t begin = 0;
  while (begin <= text.size()) {
    const bool quoted = begin > 0 && (text[begin - 1] == '"' || text[begin - 1] == '\'');
    const bool secret_value = std::exchange(next_member_is, next_member_is && !quoted) && quoted;
    const size_t end = secret_value ? end_of_quoted(text, begin)
                                    : std::min(text.find_first_of(" \n\t\"'", begin), text.size());
    const std::string word = text.substr(begin, end - begin);
    const bool secret = (next_is_secret || secret_value) && !word.empty();
    redacted += secret && !is_variable_of_a_secret(word) ? kRedacted : redacted_word(word);
    if (!word.empty()) {
      next_member_is = word == ":" && before_quoted && names_a_secret(before);
      const bool flag = word.starts_with("--") && word.find('=') == std::string::npos;
      const bool authorization =
          is_scheme_of_authorization(word) && before.ends_with(':') && names_a_secret(before);
      next_is_secret = (flag && names_a_secret(word.substr(2))) || authorization;
      before = word;
      before_quoted = quoted;
    }
    if (end < text.size()) redacted += text[end];
    begin = end + 1;
  }
  return redacted;
}

OrderedJson redact_command(const OrderedJson& words) {
  OrderedJson all = OrderedJson::array();
  std::string flag;
  for (const OrderedJson& word : words) {
    if (!word.is_string()) continue;
    const std::string text = word.get<std::string>();
    const bool value = !flag.empty() && !text.starts_with("--");
    all.push_back(value && names_a_secret(flag) ? kRedacted : redact_text(text));
    flag = text.starts_with("--") && text.find('=') == std::string::npos ? text.substr(2) : "";
  }
  return all;
}

OrderedJson redact_secrets(OrderedJson value) {
  if (value.is_string()) return redact_text(value.get<std::string>());
  if (value.is_array())
    for (OrderedJson& member : value) member = redact_secrets(std::move(member));
  if (value.is_object())
    for (auto it = value.begin(); it != value.end(); ++it) {
      OrderedJson& member = it.value();
      const bool secret =
          names_a_secret(it.key()) && member.is_string() && !member.get<std::string>().empty();
      member = secret ? OrderedJson(kRedacted) : redact_secrets(std::move(member));
    }
  return value;
}

}  // namespace hone
