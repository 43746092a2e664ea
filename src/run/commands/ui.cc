// hone ui: pages with runs, pipelines, models, a playground and data.
#include "base/core/log.h"
#include "base/core/signals.h"
#include "base/core/text.h"
#include "operate/web/web_ui.h"
#include "run/commands/command.h"
#include "run/commands/error_pages.h"

namespace hone {
namespace {

struct UiSettings {
#define HONE_SETTINGS "run/commands/ui.def"
#include "base/settings/fields.inc"
};

Result<int> run_ui(const std::vector<std::string>& args) {
  UiSettings s;
  Schema schema("hone ui", "show runs, pipelines, models and data in a browser");
  s.bind(schema);
  if (HONE_TRY(parse_settings(schema, args)).done) return kExitDone;
  install_stop_handlers();
  WebUiOptions o;
  o.http.host = s.host;
  o.http.port = static_cast<int>(s.port);
  o.http.tls_certificate = s.tls_certificate;
  o.http.tls_key = s.tls_key;
  o.folder = s.folder;
  o.data_folders = s.data_folders;
  o.registry = s.registry;
  o.endpoint_url = s.endpoint_url;
  o.endpoint_key = environment("HONE_API_KEY");
  o.version = version();
  o.error_page = [](const std::string& code) { return std::string(error_page(code)); };
  const auto ui = HONE_TRY(WebUi::start(o));
  log_info("{:<11} {}", "listens", ui->url());
  if (is_reached_by_others(s.host))
    log_warning(
        "everybody who reaches {} sees the runs, models and data files of {}: pages have no keys; "
        "listen at 127.0.0.1 and reach it by ssh -L, or put a proxy with a login before it",
        ui->url(), s.folder);
  wait_for_stop();
  return kExitDone;
}

}  // namespace

Command command_ui() {
  return {.name = "ui",
          .summary = "show runs, pipelines, models and data in a browser",
          .in = CommandGroup::kInspect,
          .run = run_ui};
}

}  // namespace hone
