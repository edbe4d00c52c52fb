// The rules of the boxes in which runs live (sys/box.h), from the site's configuration and the places that this server
// uses: those are what a run must not see. Asked once, at the start of the server.
#pragma once

#include <string>

#include "server/site_config.h"
#include "server/state_dir.h"
#include "wire/box_rules.h"

namespace lathe::server {

// Why runs have no box: because the site says so or, with a warning in the log, because none can be made here. Empty:
// they have. Throws where the site demands them and none can be made.
std::string look_for_boxes(const SiteConfig& site);
// Where they have.
wire::BoxRules make_box_rules(const SiteConfig& site, const StateDir& state);

}  // namespace lathe::server
