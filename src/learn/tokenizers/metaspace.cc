#include "learn/tokenizers/metaspace.h"

#include <cstring>

#include "learn/tokenizers/errors.h"
#include "learn/tokenizers/unicode.h"

namespace hone {

Result<Metaspace> read_metaspace(const JsonAt& spec) {
  Metaspace m;
  if (const auto at = spec.find("replacement")) {
    m.replacement = HONE_TRY(at->string());
    const char* p = m.replacement.data();
    if (m.replacement.empty() ||
        decode_char(p, p + m.replacement.size()).length != static_cast<int>(m.replacement.size()))
      return at->expected("one character");
  }
  const bool prefix = HONE_TRY(spec.boolean_or("add_prefix_space", true));
  m.scheme = prefix ? Metaspace::kAlways : Metaspace::kNever;
  if (const auto at = spec.find("prepend_scheme")) {
    const std::string_view scheme = HONE_TRY(at->string());
    if (scheme != "always" && scheme != "first" && scheme != "never")
      return Error(err::kTokenizerStage, fmt::format("unknown prepend_scheme \"{}\"", scheme))
          .at(at->where)
          .todo("the schemes are always, first and never");
    m.scheme = scheme == "always"  ? Metaspace::kAlways
               : scheme == "first" ? Metaspace::kFirst
                                   : Metaspace::kNever;
  }
  m.split = HONE_TRY(spec.boolean_or("split", true));
  return m;
}

void append_metaspaced(std::string_view text, std::string_view replacement, std::string& out) {
  const char *p = text.data(), *const end = p + text.size();
  while (p < end) {
    const auto* space = static_cast<const char*>(std::memchr(p, ' ', static_cast<size_t>(end - p)));
    out.append(p, space ? space : end);
    if (!space) return;
    out += replacement;
    p = space + 1;
  }
}

}  // namespace hone
