// The screens that there are; one more is one more line here, and a file beside.

import type { ComponentType } from "preact";
import type { Place } from "../hooks";
import type { Overview } from "../types";
import { AlertsScreen } from "./alerts";
import { AskScreen } from "./ask";
import { GraphScreen } from "./graph";
import { NewScreen } from "./new_query";
import { OverviewScreen } from "./overview";
import { QueriesScreen } from "./queries";
import { SinksScreen } from "./sinks";

export interface ScreenProps {
  place: Place;
  overview: Overview | undefined;
}

export interface Screen {
  id: string;
  title: string;
  address: string;
  icon: string;
  show: ComponentType<ScreenProps>;
}

export const SCREENS: Screen[] = [
  { id: "", title: "Overview", address: "#/", icon: "M3 11a7 7 0 0 1 14 0M10 11l3.5-3.5M4 15h12", show: OverviewScreen },
  { id: "queries", title: "Queries", address: "#/queries", icon: "M7 5h10M7 10h10M7 15h10M3 5h.5M3 10h.5M3 15h.5", show: QueriesScreen },
  { id: "graph", title: "Graph", address: "#/graph", icon: "M3 4h4v4H3zM3 12h4v4H3zM13 8h4v4h-4zM7 6h2c2 0 1 4 4 4M7 14h2c2 0 1-4 4-4", show: GraphScreen },
  { id: "new", title: "New query", address: "#/new", icon: "M10 4v12M4 10h12", show: NewScreen },
  { id: "alerts", title: "Alerts", address: "#/alerts", icon: "M5 14h10l-1.5-2V9a3.5 3.5 0 0 0-7 0v3zM8.5 16.5h3", show: AlertsScreen },
  { id: "sinks", title: "Sinks", address: "#/sinks", icon: "M3 10h9M9 6l4 4-4 4M16 4v12", show: SinksScreen },
  { id: "ask", title: "Ask", address: "#/ask", icon: "M7 7a3 3 0 1 1 4 3c-1 .5-1 1-1 2M10 15.5v.2", show: AskScreen },
];
