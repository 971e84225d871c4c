//! What is left when the world stops.
