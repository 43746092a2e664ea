#include "learn/tokenizers/text/metaspace.h"

#include "base/unicode/unicode.h"
#include "learn/tokenizers/text/errors.h"
#include "learn/tokenizers/text/json_dom.h"

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

}  // namespace hone
