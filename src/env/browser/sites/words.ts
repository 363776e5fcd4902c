export const people = ["ada", "boris", "carla", "dmitri", "elena", "farid", "greta", "hugo"] as const;
export const colours = ["Red", "Blue", "Green", "Black", "White", "Amber", "Grey", "Violet"] as const;
export const goods: Readonly<Record<string, readonly string[]>> = {
  Kitchen: ["Kettle", "Pan", "Bowl", "Mug"],
  Office: ["Lamp", "Chair", "Desk", "Clock"],
  Garden: ["Rake", "Hose", "Spade", "Pot"],
  Sport: ["Ball", "Rope", "Glove", "Helmet"],
};
export const boards: Readonly<Record<string, readonly string[]>> = {
  Cooking: ["bread", "soup", "rice", "coffee"],
  Travel: ["trains", "islands", "visas", "hostels"],
  Music: ["guitars", "choirs", "pianos", "drums"],
};
export const openings = ["Question about", "Tips for", "My first", "Problems with", "Best books on", "Cheap"] as const;
export const parts = ["Editor", "Search", "Upload", "Export", "Calendar", "Sidebar", "Printer", "Backup"] as const;
export const faults = ["crashes", "is slow", "shows nothing", "loses data", "looks wrong", "needs tests"] as const;
export const labels = ["bug", "feature", "docs", "urgent"] as const;
export const replies = ["Thank you", "I agree", "Works for me", "Same here", "Please explain", "Good point"] as const;
export const streets = ["Elm Street", "High Road", "Mill Lane", "Park Avenue"] as const;
export const shippings = ["Standard", "Express", "Pickup"] as const;
