#include "operate/web/run_document.h"

#include <algorithm>
#include <cctype>
#include <set>
#include <span>

#include "base/core/clock.h"
#include "base/core/text.h"
#include "base/store/hash.h"
#include "base/unicode/base64.h"
#include "operate/web/browser_json.h"
#include "operate/web/pages.h"
#include "operate/web/run_part.h"

namespace hone {
namespace {

std::string_view text_of_page(std::string_view name) {
  const auto page = std::find_if(web_pages().begin(), web_pages().end(),
                                 [&](const WebPage& p) { return p.name == name; });
  HONE_BUG_IF(page == web_pages().end(), "there is no page '{}'", name);
  return page->text;
}

// Appends a script after the scripts that it imports, as one script without modules. In pages/ an import is one
// line, `import {a} from './x.js';`, names are unique among files, and `export` begins a line.
void add_script(std::string_view name, std::set<std::string_view>& added, std::string& all) {
  if (!added.insert(name).second) return;
  constexpr std::string_view kImport = "import ", kExport = "export ";
  std::string own;
  for (std::string_view rest = text_of_page(name); !rest.empty();) {
    const size_t end = std::min(rest.find('\n'), rest.size() - 1) + 1;
    std::string_view line = rest.substr(0, end);
    rest.remove_prefix(end);
    if (line.starts_with(kImport)) {
      const size_t from = line.find("'./"), to = line.rfind('\'');
      HONE_BUG_IF(from == line.npos || to <= from, "an import of {} is not one line", name);
      add_script(line.substr(from + 3, to - from - 3), added, all);
      continue;
    }
    if (line.starts_with(kExport)) line.remove_prefix(kExport.size());
    own += line;
  }
  all += own;
}

std::string script_hash(std::string_view text) {
  Sha256 hash;
  hash.add(std::as_bytes(std::span(text)));
  return "'sha256-" + encode_base64(hash.digest()) + "'";
}

// Replaces what is between two texts, and the texts.
void put_between(std::string& page, std::string_view from, std::string_view to,
                 const std::string& text) {
  const size_t at = page.find(from), end = page.find(to, at);
  HONE_BUG_IF(at == page.npos || end == page.npos, "page.html has no '{}'", from);
  page.replace(at, end + to.size() - at, text);
}

// The data of the page as JSON that cannot end its element.
Result<std::string> kept_data(const RunRow& row, const RunDocumentOptions& options) {
  OrderedJson head{{"run", text_at(row.run, "id")},
                   {"version", options.version},
                   {"saved_s", system_clock().wall_seconds()}};
  const std::string code = text_at(row.end, "code");
  if (options.error_page && !code.empty())
    head["error_page"] = {{"code", code}, {"text", options.error_page(code)}};
  std::string data = browser_json(head);
  data.pop_back();
  data += ", \"parts\": [";
  bool more = true;
  for (int64_t from = 0; more;) {
    const OrderedJson part = HONE_TRY(run_part(row, from));
    more = value_at(part, "more") == true;
    data += (from > 0 ? ", " : "") + browser_json(part);
    from = whole_at(part, "next");
  }
  data += "]}";
  std::string safe;
  safe.reserve(data.size());
  for (const char c : data)
    if (c == '<')
      safe += "\\u003c";
    else
      safe += c;
  return safe;
}

}  // namespace

Result<std::string> run_document(const RunRow& row, const RunDocumentOptions& options) {
  const std::string data = HONE_TRY(kept_data(row, options));
  std::string script = "\n";
  std::set<std::string_view> added;
  add_script("runs.js", added, script);
  const std::string style = "\n" + std::string(text_of_page("style.css"));
  HONE_BUG_IF(script.find("</") != script.npos, "a script of pages/ could end its element");
  std::string page(text_of_page("runs.html"));
  put_between(page, "<link rel=\"icon\"", ">", "");
  put_between(page, "<header>", "</header>", "<header><span class=\"brand\">hone</span></header>");
  put_between(page, "<link rel=\"stylesheet\"", ">", "<style>" + style + "</style>");
  put_between(page, "<script type=\"module\"", "</script>",
              "<script type=\"application/json\" id=\"kept\">" + data +
                  "</script>\n<script type=\"module\">" + script + "</script>");
  put_between(page, "<meta charset=\"utf-8\">", "\n",
              fmt::format("<meta charset=\"utf-8\">\n"
                          "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src "
                          "'none'; script-src {}; style-src {}; base-uri 'none'; form-action "
                          "'none'\">\n",
                          script_hash(script), script_hash(style)));
  return page;
}

std::string run_document_name(const RunRow& row) {
  std::string name = text_at(row.run, "name");
  if (name.empty()) name = text_at(row.run, "id");
  for (char& c : name)
    if (!std::isalnum(static_cast<unsigned char>(c)) &&
        std::string_view("._-").find(c) == std::string_view::npos)
      c = '-';
  while (name.starts_with('.')) name.erase(0, 1);
  return (name.empty() ? "run" : name) + ".html";
}

}  // namespace hone
